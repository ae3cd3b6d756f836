"""What instructions read, write and occupy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.cycles.decoding import UnknownInstruction, decode
from cmbuild.cycles.disassembly import disassemble
from cmbuild.cycles.instruction import Kind, Pipe
from cmbuild.cycles.registry import timing_model
from cmbuild.process import Processes
from cmcompiler.isa import Isa


@pytest.mark.parametrize(
    ("text", "kind", "roles"),
    [
        ("adds r0, r1, r2", Kind.ALU, ("r1 r2", "", "", "r0")),
        ("add r3, r0", Kind.ALU, ("r0 r3", "", "", "r3")),
        ("movt r1, #512", Kind.ALU, ("r1", "", "", "r1")),
        ("cmp ip, r0", Kind.COMPARE, ("r12 r0", "", "", "")),
        ("mla r0, r1, r2, r3", Kind.ACCUMULATE, ("r1 r2", "", "r3", "r0")),
        ("smlald r0, r1, r2, r3", Kind.ACCUMULATE, ("r2 r3", "", "r0 r1", "r0 r1")),
        ("umull r4, r5, r6, r7", Kind.MULTIPLY, ("r6 r7", "", "", "r4 r5")),
        ("sxtb16 r5, r5, ror #8", Kind.PACKED, ("r5", "", "", "r5")),
        ("ldrb.w r2, [r1], #1", Kind.LOAD, ("", "r1", "", "r2 r1")),
        ("pld [r1, #32]", Kind.PREFETCH, ("", "r1", "", "")),
        ("pli [r1, r2]", Kind.PREFETCH, ("", "r1 r2", "", "")),
        ("ldr r0, [r1, r2]", Kind.LOAD, ("", "r1 r2", "", "r0")),
        ("str r0, [sp, #4]", Kind.STORE, ("r0", "r13", "", "")),
        ("ldrd r5, r7, [ip], #8", Kind.LOAD_PAIR, ("", "r12", "", "r5 r7 r12")),
        ("ldmia.w lr!, {r8, r9, sl, fp}", Kind.LOAD_MULTIPLE, ("", "r14", "", "r8 r9 r10 r11 r14")),
        ("push {r4-r6, lr}", Kind.STORE_MULTIPLE, ("r4 r5 r6 r14", "r13", "", "r13")),
        ("pop {r4, pc}", Kind.POP_PC, ("", "r13", "", "r4 r15 r13")),
        ("bne.n 100 <f>", Kind.BRANCH, ("", "", "", "")),
        ("cbz r0, 100 <f>", Kind.BRANCH, ("r0", "", "", "")),
        ("bx lr", Kind.BRANCH_REGISTER, ("r14", "", "", "")),
        ("dlstp.8 lr, r3", Kind.LOOP_START, ("r3", "", "", "r14")),
        ("ittte ne", Kind.IT, ("", "", "", "")),
        ("vldrb.u8 q0, [r3], #16", Kind.VECTOR, ("", "r3", "", "q0 r3")),
        ("vmlava.s8 r0, q0, q2", Kind.VECTOR, ("q0 q2", "", "r0", "r0")),
        ("vldrw.u32 q1, [r0, q2]", Kind.VECTOR, ("", "r0 q2", "", "q1")),
        ("vpsel q0, q1, q2", Kind.VECTOR, ("q1 q2", "", "", "q0")),
        ("vpush {d8-d9}", Kind.VECTOR, ("d8 d9", "", "", "")),
    ],
)
def test_operands_have_their_roles(text: str, kind: Kind, roles: tuple[str, ...]) -> None:
    """Registers that are read, that form an address, that are added to, and that are written."""
    mnemonic, _, operands = text.partition(" ")
    actual = decode(0, 4, mnemonic, operands)
    assert actual.kind is kind
    seen = (actual.reads, actual.address_registers, actual.addends, actual.writes)
    assert seen == tuple(tuple(role.split()) for role in roles)


def test_vector_instructions_know_their_pipe() -> None:
    load = decode(0, 4, "vldrw.u32", "q0, [r0]").vector
    product = decode(0, 4, "vmlava.s8", "r0, q0, q2").vector
    narrowing = decode(0, 4, "vmovnb.i32", "q0, q1").vector
    assert load and product and narrowing
    assert [v.pipe for v in (load, product, narrowing)] == [
        Pipe.MEMORY,
        Pipe.MULTIPLY,
        Pipe.INTEGER,
    ]
    assert (load.beats, product.beats) == (2, 2)


@pytest.mark.parametrize("text", ["frobnicate r0", ".word 0x38004200", "vfrob.s8 q0, q1"])
def test_what_no_table_knows_is_named(text: str) -> None:
    mnemonic, _, operands = text.partition(" ")
    with pytest.raises(UnknownInstruction, match=text.split(maxsplit=1)[0]):
        decode(0, 4, mnemonic, operands)


@pytest.mark.parametrize(
    ("board", "isa", "cpu"),
    [
        ("corstone300", Isa.MVE, "cortex-m55"),
        ("corstone300", Isa.DSP, "cortex-m55"),
        ("corstone300", Isa.SCALAR, "cortex-m55"),
        ("microbit", Isa.SCALAR, "cortex-m0plus"),
    ],
)
def test_every_instruction_of_every_kernel_is_known(
    board: str, isa: Isa, cpu: str, tmp_path: Path
) -> None:
    image = kernel_harness(board, isa.label, tmp_path).image
    objdump = shutil.which("arm-none-eabi-objdump")
    assert objdump is not None
    core, log = timing_model(cpu), tmp_path / "log.txt"
    assert core is not None
    code = disassemble(Path(objdump), image, core.architecture, Processes(), log)
    assert "UNDEFINED" not in log.read_text()
    assert len(code.lines) > 10_000
    unknown = set()
    for address, line in code.lines.items():
        if line.mnemonic in (".word", ".short", ".byte"):
            continue  # constants between functions
        try:
            decode(address, line.size, line.mnemonic, line.operands)
        except UnknownInstruction as error:
            unknown.add(str(error).split()[0])
    assert unknown == set()
