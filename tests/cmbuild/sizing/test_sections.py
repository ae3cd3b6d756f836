"""The table of code has the kernels, and counts what a linker would take."""

from __future__ import annotations

import pytest

from cmbuild.sizing.linking import Linked
from cmbuild.sizing.sections import LibraryCode, SectionKind, known_code
from cmbuild.toolchain.kernel_sources import read_kernels
from cmcompiler.isa import Isa

CODE, HOT, VALUES, ZEROS = SectionKind

LIBRARY = LibraryCode(
    functions={"cm_a": 0, "cm_b": 1, "cm_table": 4},
    sections=[
        (CODE, 100, (2, 3)),
        (CODE, 10, (2, 0)),
        (HOT, 7, (3,)),
        (ZEROS, 30, ()),
        (VALUES, 5, (4,)),
    ],
)


@pytest.mark.parametrize(
    ("names", "linked"),
    [
        (("cm_a",), Linked(code=107, variables=30, hot=7, stack=None)),
        (("cm_b", "cm_a", "cm_b"), Linked(code=117, variables=30, hot=7, stack=None)),
        (("cm_table", "memcpy"), Linked(code=5, variables=5, hot=0, stack=None)),
        ((), Linked(code=0, variables=0, hot=0, stack=None)),
    ],
)
def test_each_section_counts_once(names: tuple[str, ...], linked: Linked) -> None:
    assert LIBRARY.linked(names) == linked


def test_it_has_the_kernels_that_it_is_asked_for() -> None:
    assert LIBRARY.has(["a", "table"]) and not LIBRARY.has(["a", "c"])


@pytest.mark.parametrize("isa", Isa)
def test_most_kernels_are_known(isa: Isa) -> None:
    """A few new ones are bounded until `python benchmarks/code_sizes.py` runs again."""
    kernels = read_kernels()
    library = known_code().library("cortex-m4", isa.label)
    assert library is not None
    lacking = [name for name in kernels if not library.has([name])]
    assert len(lacking) <= len(kernels) // 10, f"run benchmarks/code_sizes.py: {lacking}"


def test_a_core_without_a_table_takes_one_of_its_instruction_set() -> None:
    table = known_code()
    assert table.library("cortex-m85", "mve") is table.libraries["mve"]["cortex-m55"]
    assert table.library("cortex-m33", "dsp") is table.libraries["dsp"]["cortex-m33"]
    assert table.library("cortex-m33", "none") is None
