"""The table of microkernels says what the folders of the runtime hold."""

from pathlib import Path

from cmcompiler.isa import MICROKERNELS, Isa, provider

FOLDER = Path(__file__).parents[2] / "runtime" / "isa"


def test_the_table_is_the_folders() -> None:
    for isa in Isa:
        files = {file.stem for file in (FOLDER / isa.label).glob("*.c")}
        assert files == {name for name, isas in MICROKERNELS.items() if isa in isas}


def test_every_core_has_a_version_of_every_microkernel() -> None:
    for name in MICROKERNELS:
        assert [provider(name, isa) <= isa for isa in Isa] == [True] * len(Isa)
