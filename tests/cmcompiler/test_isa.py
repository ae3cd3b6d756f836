"""The microkernels that ops declare match the runtime's folders."""

import sys
from pathlib import Path

from cmcompiler.decode.registry import operators
from cmcompiler.isa import Isa, Microkernel

FOLDER = Path(__file__).parents[2] / "runtime" / "isa"


def declared() -> set[Microkernel]:
    """Microkernels of all modules of the compiler, once every op is imported."""
    assert operators()
    modules = [module for name, module in sys.modules.items() if name.startswith("cmcompiler.")]
    everything = [value for module in modules for value in vars(module).values()]
    return {value for value in everything if isinstance(value, Microkernel)}


def test_declarations_are_the_folders() -> None:
    assert len({each.name for each in declared()}) == len(declared()) > 0
    for isa in Isa:
        files = {file.stem for file in (FOLDER / isa.label).glob("*.c")}
        assert files == {each.name for each in declared() if each.provider(isa) is isa}


def test_every_core_has_a_version_of_every_microkernel() -> None:
    for microkernel in declared():
        assert [microkernel.provider(isa) <= isa for isa in Isa] == [True] * len(Isa)
