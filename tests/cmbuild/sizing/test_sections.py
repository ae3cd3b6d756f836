"""The table of code has the kernels, and counts what a linker would take."""

from __future__ import annotations

import pytest

from cmbuild.sizing.linking import Linked
from cmbuild.sizing.sections import CodePart, CodeTable, SectionKind, known_code
from cmbuild.toolchain.kernel_sources import read_kernels
from cmcompiler.isa import Isa

CODE, HOT, VALUES, ZEROS = SectionKind

TABLE = CodeTable(
    provenance="none",
    cores={"cortex-m3": "scalar", "cortex-m4": "dsp", "cortex-m33": "dsp"},
    parts=[
        CodePart(kind=CODE, sizes=(50, 90, 100), users=frozenset({"cm_a"})),
        CodePart(kind=CODE, sizes=(9, 10, 0), users=frozenset({"cm_b"})),
        CodePart(kind=HOT, sizes=(0, 7, 6), users=frozenset({"cm_a", "cm_b"})),
        CodePart(kind=ZEROS, sizes=(30, 30, 30), users=frozenset({"cm_a", "cm_b"})),
        CodePart(kind=VALUES, sizes=(5, 5, 5), users=frozenset({"cm_table"})),
    ],
)


@pytest.mark.parametrize(
    ("core", "names", "linked"),
    [
        ("cortex-m4", ("cm_a",), Linked(code=97, variables=30, hot=7, stack=None)),
        ("cortex-m3", ("cm_a",), Linked(code=50, variables=30, hot=0, stack=None)),
        ("cortex-m4", ("cm_b", "cm_a", "cm_b"), Linked(code=107, variables=30, hot=7, stack=None)),
        ("cortex-m33", ("cm_table", "memcpy"), Linked(code=5, variables=5, hot=0, stack=None)),
        ("cortex-m33", (), Linked(code=0, variables=0, hot=0, stack=None)),
    ],
)
def test_each_part_counts_once(core: str, names: tuple[str, ...], linked: Linked) -> None:
    assert TABLE.linked(core, names) == linked


def test_it_has_the_kernels_that_it_is_asked_for() -> None:
    assert TABLE.has("cortex-m4", ["a", "b", "table"])
    assert not TABLE.has("cortex-m4", ["a", "c"])
    assert not TABLE.has("cortex-m33", ["a", "no"])


@pytest.mark.parametrize("isa", Isa)
def test_most_kernels_are_known(isa: Isa) -> None:
    """A few new ones are bounded until `python benchmarks/code_sizes.py` runs again."""
    kernels = read_kernels()
    table = known_code()
    core = table.core("cortex-m4", isa.label)
    assert core is not None
    lacking = [name for name in kernels if not table.has(core, [name])]
    assert len(lacking) <= len(kernels) // 10, f"run benchmarks/code_sizes.py: {lacking}"


def test_a_core_without_a_table_takes_one_of_its_instruction_set() -> None:
    table = known_code()
    assert table.core("cortex-m85", "mve") == "cortex-m55"
    assert table.core("cortex-m33", "dsp") == "cortex-m33"
    assert table.core("cortex-m33", "none") is None
