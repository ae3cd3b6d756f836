"""Short sequences take the cycles that Arm's manuals and published measurements state."""

from __future__ import annotations

import pytest
from harness.second_opinion import loops

from cmbuild.cycles.core import Core
from cmbuild.cycles.cores.cortex_m0 import CortexM0
from cmbuild.cycles.cores.cortex_m0plus import CortexM0Plus
from cmbuild.cycles.cores.cortex_m3 import CortexM3
from cmbuild.cycles.cores.cortex_m4 import CortexM4
from cmbuild.cycles.cores.cortex_m7 import CortexM7
from cmbuild.cycles.cores.cortex_m33 import CortexM33
from cmbuild.cycles.cores.cortex_m55 import CortexM55
from cmbuild.cycles.decoding import decode
from cmbuild.cycles.instruction import Instruction
from cmbuild.cycles.registry import modelled_cores, timing_model


def instructions(*lines: str) -> list[Instruction]:
    """With the suffix .n an instruction has two bytes, else four."""
    collected, address = [], 0
    for line in lines:
        mnemonic, _, operands = line.partition(" ")
        size = 2 if mnemonic.endswith(".n") else 4
        collected.append(decode(address, size, mnemonic, operands))
        address += size
    return collected


def cycles(core: type[Core], *lines: str, taken: bool = False) -> float:
    """Of a sequence on its own; `taken` for its last instruction."""
    model, sequence = core(), instructions(*lines)
    for instruction in sequence:
        is_last = instruction is sequence[-1]
        model.issue(instruction, is_last and taken, None)
    return model.clock


def loop(core: type[Core], *lines: str) -> float:
    """Of one iteration of many."""
    model, sequence, times = core(), instructions(*lines), []
    for _ in range(10):
        for instruction in sequence:
            model.issue(instruction, False, None)
        times.append(model.clock)
    return (times[9] - times[1]) / 8


# Technical Reference Manuals, "Instruction set summary".
@pytest.mark.parametrize(
    ("line", "m0", "m0plus", "m3", "m4"),
    [
        ("adds.n r0, r0, r1", 1, 1, 1, 1),
        ("muls.n r0, r1", 1, 1, 1, 1),
        ("ldr.n r0, [r1, #4]", 2, 2, 2, 2),
        ("str.n r0, [r1, #4]", 2, 2, 1, 1),
        ("push.n {r4, r5, r6}", 4, 4, 4, 4),
        ("ldmia.n r0!, {r1, r2, r3, r4}", 5, 5, 5, 5),
        ("bl 0 <f>", 4, 3, 2, 2),
        ("bne.n 0 <f>", 1, 1, 1, 1),
    ],
)
def test_manuals_give_the_cycles_of_single_instructions(
    line: str, m0: int, m0plus: int, m3: int, m4: int
) -> None:
    cores = (CortexM0, CortexM0Plus, CortexM3, CortexM4)
    assert tuple(cycles(core, line) for core in cores) == (m0, m0plus, m3, m4)


def test_taken_branches_refill_the_pipeline() -> None:
    line = "bne.n 0 <f>"
    assert [cycles(core, line, taken=True) for core in (CortexM0, CortexM0Plus)] == [3, 2]
    assert cycles(CortexM4, line, taken=True) == 2


def test_consecutive_loads_overlap_on_the_cortex_m4_unless_they_depend_on_each_other() -> None:
    independent = [f"ldr.w r{n}, [r8, #{4 * n}]" for n in range(4)]
    assert cycles(CortexM4, *independent) == 5
    assert cycles(CortexM4, "ldr.w r0, [r8]", "ldr.w r1, [r0]") == 4
    assert cycles(CortexM3, "ldr.w r0, [r8], #4", "ldr.w r1, [r9]") == 4


# jnk0le/random, "pipeline cortex-m3": fetching falls behind.
def test_wide_instructions_off_a_word_are_late_on_the_cortex_m4_after_a_long_one() -> None:
    wide = ["add.w r0, r0, r4"] * 3
    aligned = ["ldr.w r1, [r8]", *wide]
    assert cycles(CortexM4, "nop.n", *aligned) == 1 + cycles(CortexM4, *aligned) + 1
    assert cycles(CortexM3, "nop.n", *aligned) == 1 + cycles(CortexM3, *aligned)
    loads = ["ldr.w r1, [r8]", "ldr.w r2, [r8, #4]"]
    assert cycles(CortexM4, "nop.n", *loads, *wide) == 1 + cycles(CortexM4, *loads, *wide) + 1
    for few in (["nop.n", *aligned[:3]], ["nop.n", *aligned[:2], "nop.n", *wide], ["nop.n", *wide]):
        narrow = [line for line in few if line.endswith("nop.n")]
        others = [line for line in few if not line.endswith("nop.n")]
        assert cycles(CortexM4, *few) == len(narrow) + cycles(CortexM4, *others)


def test_long_products_of_the_cortex_m3_take_several_cycles() -> None:
    assert cycles(CortexM3, "umull r0, r1, r2, r3") == 4
    assert cycles(CortexM3, "mla r0, r1, r2, r3") == 2
    assert cycles(CortexM4, "umlal r0, r1, r2, r3") == 1


# jnk0le/random, pipeline notes: a load's result one cycle later, a product's two, except as addend.
def test_the_cortex_m33_waits_for_what_it_uses_too_early() -> None:
    assert loop(CortexM33, "ldr.w r0, [r8]", "add.w r1, r0, r2") == 3
    assert loop(CortexM33, "ldr.w r0, [r8]", "add.w r3, r4, r5", "add.w r1, r0, r2") == 3
    assert loop(CortexM33, "smlad r0, r1, r2, r0") == 1
    assert loop(CortexM33, "mul.w r0, r0, r1") == 2


def test_the_cortex_m7_issues_pairs_with_one_product_and_one_store() -> None:
    assert loop(CortexM7, "add.w r0, r1, r2", "add.w r3, r4, r5") == 1
    assert loop(CortexM7, "smlad r0, r1, r2, r0", "smlad r3, r4, r5, r3") == 2
    assert loop(CortexM7, "smlad r0, r1, r2, r0", "ldr.w r4, [r8]") == 1
    assert loop(CortexM7, "str.w r0, [r8]", "str.w r1, [r9]") == 2


# jnk0le/random, "pipeline cortex-m7".
def test_the_cortex_m7_pairs_loads_of_two_banks_and_packed_instructions_with_what_follows() -> None:
    first = "ldr.w r0, [r8, #4]"
    for second, times in {
        "ldr.w r1, [r8, #8]": 1,
        "ldr.w r1, [r8, #12]": 2,
        "ldr.w r1, [r9, #8]": 2,
        "ldr.w r1, [r8, r2]": 2,
    }.items():
        assert loop(CortexM7, first, second) == times
    packed, other = "sxtb16 r0, r1", "orr.w r2, r3, r4"
    assert loop(CortexM7, packed, other) == 1
    assert cycles(CortexM7, other, packed, other) == 2


def test_products_of_the_cortex_m7_wait_for_loads_and_not_for_packed_instructions() -> None:
    product = "smlad r0, r1, r2, r0"
    pair = "smlad r4, r1, r2, r4"
    assert cycles(CortexM7, "sxtb16 r1, r3", product, pair) == 2
    assert cycles(CortexM7, "ldr.w r1, [r3]", product, pair) == 3


def test_a_prefetch_is_one_instruction_and_on_the_cortex_m7_half_a_pair() -> None:
    assert [cycles(core, "pld [r1]") for core in (CortexM3, CortexM4, CortexM33)] == [1, 1, 1]
    assert loop(CortexM7, "pld [r8]", "smlad r0, r1, r2, r0") == 1
    assert loop(CortexM7, "pld [r8]", "ldr.w r0, [r9]") == 1
    late = "ldr.w r8, [r9]"
    assert cycles(CortexM7, late, "pld [r8]") == cycles(CortexM7, late, "ldr.w r0, [r8]")


# LLVM, ARMScheduleM55.td: two beats of a pipe; other pipes meanwhile.
def test_the_cortex_m55_overlaps_pipes_and_not_one_with_itself() -> None:
    assert loop(CortexM55, "vmlava.s8 r0, q0, q1", "vmlava.s8 r2, q2, q3") == 4
    assert loop(CortexM55, "vmlava.s8 r0, q0, q1", "vldrw.u32 q4, [r8]") == 2


def test_the_cortex_m55_is_as_close_to_the_model_of_llvm_as_it_says() -> None:
    differences = sorted(round(loop.difference) for loop in loops())
    assert len(differences) >= 10
    said = f"{-differences[-1]} to {-differences[0]} % fewer cycles"
    assert said in CortexM55.evidence.summary


def test_the_matrix_loop_of_the_dsp_extension() -> None:
    """Sixteen MACs; the order of its loads matters on the Cortex-M33."""
    widen = ["sxtb16 r4, r5", "sxtb16 r5, r5, ror #8", "sxtb16 r6, r7", "sxtb16 r7, r7, ror #8"]
    operands = [("r0", "r8", "r4"), ("r1", "r8", "r6"), ("r2", "sl", "r4"), ("r3", "sl", "r6")]
    operands += [("r0", "r9", "r5"), ("r1", "r9", "r7"), ("r2", "fp", "r5"), ("r3", "fp", "r7")]
    products = [f"smlad {a}, {b}, {c}, {a}" for a, b, c in operands]
    pair, four = "ldrd r5, r7, [ip], #8", "ldmia.w lr!, {r8, r9, sl, fp}"
    plain = (pair, *widen, four, *products)
    early = (pair, four, *widen, *products)
    assert (loop(CortexM4, *plain), loop(CortexM4, *early)) == (20, 20)
    assert loop(CortexM33, *early) < loop(CortexM33, *plain)


def test_every_model_says_how_far_it_can_be_trusted() -> None:
    for cpu in modelled_cores():
        core = timing_model(cpu)
        assert core is not None
        assert core.__name__.lower() == cpu.replace("-", "")
        assert core.evidence.summary
    assert CortexM55.evidence.error_percent is None
    assert timing_model("cortex-m85") is None
