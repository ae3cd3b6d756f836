"""Every combination of the module's options and of the symbols of Zephyr's that they depend on."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import kconfiglib
import pytest
from harness.zephyr import BOARDS, SAMPLES, Application, Board, kconfig

from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA, Target

CORES = ("M0", "M0PLUS", "M1", "M3", "M4", "M7", "M23", "M33", "M52", "M55", "M85")
FEATURES = ("CPU_HAS_FPU", "ARMV8_M_DSP", "ARMV8_1_M_MVEI", "ARMV8_1_M_MVEF", "SOC_SERIES_RP2350")
ISAS = {Isa.SCALAR: "SCALAR", Isa.DSP: "DSP", Isa.MVE: "MVE"}
CHOSEN = {"cmbuild,arena", "cmbuild,weights"}


def value(config: kconfiglib.Kconfig, name: str) -> str:
    return str(config.syms[name].str_value)


def assign(config: kconfiglib.Kconfig, **values: bool) -> None:
    for name, is_on in values.items():
        config.syms[name].set_value(2 if is_on else 0)


@pytest.mark.parametrize("core", CORES)
def test_every_core_gets_kernels_that_it_can_run(core: str, tmp_path: Path) -> None:
    with kconfig(set(), tmp_path) as config:
        assign(config, **{f"CPU_CORTEX_{core}": True, "CMBUILD": True})
        for switches in product([False, True], repeat=len(FEATURES) + 1):
            features = dict(zip((*FEATURES, "FPU"), switches, strict=True))
            assign(config, **features)
            for isa in (None, *ISAS):
                config.syms["CMBUILD_ISA_SCALAR"].choice.unset_value()
                if isa is not None:
                    assign(config, **{f"CMBUILD_ISA_{ISAS[isa]}": True})
                check_kernels(config)
        assert [w for w in config.warnings if "CMBUILD" in w] == []


def check_kernels(config: kconfiglib.Kconfig) -> None:
    """One instruction set is on; cmbuild knows the core by its name and the set as one of its."""
    on = [isa for isa, name in ISAS.items() if value(config, f"CMBUILD_ISA_{name}") == "y"]
    assert len(on) == 1
    target = Target.parse(value(config, "CMBUILD_CPU"), value(config, "CMBUILD_ISA"))
    assert target.isa is on[0]
    if target.isa is Isa.MVE:
        assert value(config, "ARMV8_1_M_MVEF") == value(config, "FPU") == "y"


def test_the_best_kernels_are_the_default(tmp_path: Path) -> None:
    """On SoCs that say all that their core has; the FPU comes by itself."""
    for core in CORES:
        with kconfig(set(), tmp_path) as config:
            assign(config, **{f"CPU_CORTEX_{core}": True, "CMBUILD": True})
            assign(config, **dict.fromkeys(FEATURES[:-1], True))
            cpu = value(config, "CMBUILD_CPU")
            assert value(config, "CMBUILD_ISA") == BEST_ISA[cpu].label
            assert value(config, "FPU") == value(config, "CPU_HAS_FPU")


def test_options_combine(tmp_path: Path) -> None:
    names = ("SHELL", "LOG", "CMBUILD_FLOAT", "CMBUILD_MAIN", "CMBUILD_RUNNER", "CMBUILD_SHELL")
    names += ("ARCH_HAS_TIMING_FUNCTIONS", "CMBUILD_TIMING")
    names += ("CMBUILD_ARENA_CHOSEN", "CMBUILD_WEIGHTS_CHOSEN")
    for chosen in (set(), CHOSEN):
        with kconfig(chosen, tmp_path) as config:
            assign(config, CPU_CORTEX_M55=True, CMBUILD=True)
            for switches in product([False, True], repeat=len(names)):
                asked = dict(zip(names, switches, strict=True))
                assign(config, **asked)
                listed = {name: value(config, name) == "y" for name in names}
                assert listed["CMBUILD_MAIN"] == asked["CMBUILD_MAIN"] or asked["CMBUILD_RUNNER"]
                assert listed["CMBUILD_SHELL"] == (asked["CMBUILD_SHELL"] and asked["SHELL"])
                timing = asked["CMBUILD_TIMING"] and asked["ARCH_HAS_TIMING_FUNCTIONS"]
                assert listed["CMBUILD_TIMING"] == timing
                assert not timing or value(config, "TIMING_FUNCTIONS") == "y"
                assert not listed["CMBUILD_ARENA_CHOSEN"] or chosen
                assert not listed["CMBUILD_WEIGHTS_CHOSEN"] or chosen
                one = value(config, "CMBUILD_ARENA_SRAM"), value(config, "CMBUILD_ARENA_CHOSEN")
                assert sorted(one) == ["n", "y"]


def test_chosen_memories_are_the_default(tmp_path: Path) -> None:
    with kconfig(CHOSEN, tmp_path) as config:
        assign(config, CPU_CORTEX_M55=True, CMBUILD=True)
        assert value(config, "CMBUILD_ARENA_CHOSEN") == "y"
        assert value(config, "CMBUILD_WEIGHTS_CHOSEN") == "y"


def test_without_cmbuild_nothing_is_on(tmp_path: Path) -> None:
    with kconfig(CHOSEN, tmp_path) as config:
        assign(config, CPU_CORTEX_M55=True, ARMV8_M_DSP=True, SHELL=True, LOG=True)
        ours = [name for name in config.syms if name.startswith("CMBUILD") and name != "CMBUILD"]
        on = [name for name in ours if value(config, name) not in ("n", "")]
        assert set(on) <= {"CMBUILD_HAS_DSP"}


EXPECTED = {
    "mps3/corstone300/an547": "mve",
    "mps3/corstone300/fvp": "mve",
    "mps4/corstone320/fvp": "mve",
    "rpi_pico2/rp2350a/m33": "dsp",
    "ensemble_e8_dk/ae822fa0e5597ls0/rtss_he": "mve",
    "nucleo_n657x0_q": "mve",
}


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.file_stem)
@pytest.mark.parametrize("sample", ["hello", "mv2", "digits"])
def test_samples_are_configured_without_warnings(sample: str, board: Board, tmp_path: Path) -> None:
    actual = Application(SAMPLES / sample, board).configuration(tmp_path)
    assert actual.warnings == []
    assert actual["CMBUILD_ISA"] == EXPECTED[board.name]
    assert actual["CMBUILD_MAIN"] == "y"
    assert actual["CMBUILD_TIMING"] == actual["ARCH_HAS_TIMING_FUNCTIONS"]
