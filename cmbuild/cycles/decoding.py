"""Instructions of the core from the words of a disassembler: Armv6-M, Armv7-M, Armv8-M."""

from __future__ import annotations

import re

from cmbuild.cycles import vector_decoding
from cmbuild.cycles.instruction import Instruction, Kind
from cmbuild.cycles.registers import core_registers, split_operands

_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_TRANSFER = re.compile(
    r"(ldrd|strd|ldrexb|ldrexh|ldrex|strexb|strexh|strex|ldrsb|ldrsh|ldrb|ldrh|ldr|strb|strh|str"
    r"|ldmia|ldmdb|ldm|stmia|stmdb|stm|push|pop)"
    rf"(?:{_CONDITIONS})?"
)
_SHIFT = re.compile(r"\b(lsl|lsr|asr|ror|rrx)\b")

# Mnemonics without S and condition, by kind. Arm Architecture Reference Manuals v6-M, v7-M, v8-M.
_OPERATIONS: dict[Kind, str] = {
    Kind.ALU: "adc add addw adr and asr asrl bfc bfi bic cinc cinv clz cneg csel cset csetm csinc"
    " csinv csneg eor lsl lsll lsr lsrl mov movt movw mvn neg orn orr rbit rev rev16 revsh ror rrx"
    " rsb sbc sbfx sqrshr sqrshrl sqshl sqshll srshr srshrl sub subw ubfx uqrshl uqrshll uqshl"
    " uqshll urshr urshrl sxtb sxth uxtb uxth",
    Kind.COMPARE: "cmp cmn tst teq",
    Kind.MULTIPLY: "mul smul smulbb smulbt smultb smultt smull smulwb smulwt smmul smmulr smuad"
    " smuadx smusd smusdx umull",
    Kind.ACCUMULATE: "mla mls smlabb smlabt smlatb smlatt smlad smladx smlal smlalbb smlalbt"
    " smlaltb smlaltt smlald smlaldx smlawb smlawt smlsd smlsdx smlsld smlsldx smmla smmlar smmls"
    " smmlsr umaal umlal usada8",
    Kind.DIVIDE: "sdiv udiv",
    Kind.EXTEND_ADD: "sxtab sxtab16 sxtah uxtab uxtab16 uxtah",
    Kind.PACKED: "pkhbt pkhtb qadd qadd16 qadd8 qasx qdadd qdsub qsax qsub qsub16 qsub8 sadd16"
    " sadd8 sasx sel shadd16 shadd8 shasx shsax shsub16 shsub8 ssat ssat16 ssax ssub16 ssub8"
    " sxtb16 uadd16 uadd8 uasx uhadd16 uhadd8 uhasx uhsax uhsub16 uhsub8 uqadd16 uqadd8 uqasx"
    " uqsax uqsub16 uqsub8 usad8 usat usat16 usax usub16 usub8 uxtb16",
    Kind.NOP: "nop",
    Kind.SYSTEM: "bkpt clrex cps cpsid cpsie dmb dsb isb mrs msr sev sg svc tt udf wfe wfi yield"
    " bti pac pacbti aut csdb clrm",
}
_KINDS = {name: kind for kind, names in _OPERATIONS.items() for name in names.split()}
_LONG = re.compile(r"(s|u)mull|(s|u)mlal|smlald|smlsld|umaal|asrl|lsll|lsrl")
_ONE_SOURCE = re.compile(r"mov|mvn|[su]xt|rev|clz|rbit|adr|neg|ssat|usat|rsb")
_KEEPS_TARGET = ("movt", "bfi", "bfc")
_NO_SHIFTER = re.compile(r"lsl|lsr|asr|ror|rrx|[su]xt|ssat|usat|pkh|sq|uq|sr|ur")
_PLAIN_IMMEDIATE = re.compile(r"lsl|lsr|asr|ror|mov|ubfx|sbfx|bf|addw|subw|sq|uq|sr|ur")


class UnknownInstruction(ValueError):
    """Not in the tables of this package."""


def decode(address: int, size: int, mnemonic: str, operands: str) -> Instruction:
    """An instruction as objdump prints it.

    Raises:
        UnknownInstruction: by its text.
    """
    operation = re.sub(r"\.(n|w)$", "", mnemonic)
    text = f"{mnemonic} {operands}".strip()
    instruction = (
        _branch(address, size, text, operation, operands)
        or _other_control(address, size, text, operation, operands)
        or _prefetch(address, size, text, operation, operands)
        or _transfer(address, size, text, operation, operands)
    )
    if instruction is None and operation.startswith("v"):
        instruction = vector_decoding.decode(address, size, text, operation, operands)
    instruction = instruction or _data_processing(address, size, text, operation, operands)
    if instruction is None:
        raise UnknownInstruction(text)
    return instruction


def _branch(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction | None:
    if re.fullmatch(rf"b({_CONDITIONS})?", operation):
        return Instruction(address, size, text, operation, Kind.BRANCH)
    if operation in ("cbz", "cbnz"):
        reads = core_registers(operands)
        return Instruction(address, size, text, operation, Kind.BRANCH, reads=reads)
    if operation == "bl":
        return Instruction(address, size, text, operation, Kind.CALL, writes=("r14",))
    if re.fullmatch(rf"(bx|blx|bxns|blxns)({_CONDITIONS})?", operation):
        reads = core_registers(operands)
        return Instruction(address, size, text, operation, Kind.BRANCH_REGISTER, reads=reads)
    if operation in ("tbb", "tbh"):
        registers = core_registers(operands)
        return Instruction(
            address, size, text, operation, Kind.TABLE_BRANCH, address_registers=registers
        )
    return None


def _other_control(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction | None:
    if re.fullmatch(r"it[te]*", operation):
        return Instruction(address, size, text, operation, Kind.IT)
    if operation in ("le", "letp"):
        return Instruction(address, size, text, operation, Kind.LOOP_END, reads=("r14",))
    if re.fullmatch(r"(dls|wls)(tp\.(8|16|32|64))?", operation):
        reads = core_registers(split_operands(operands)[1])
        return Instruction(
            address, size, text, operation, Kind.LOOP_START, reads=reads, writes=("r14",)
        )
    return None


def _prefetch(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction | None:
    """A hint for a cache: nothing waits for it, but it waits for its address."""
    if not re.fullmatch(rf"pl(d|dw|i)({_CONDITIONS})?", operation):
        return None
    bracket = re.search(r"\[(.*?)\]", operands)
    place = core_registers(bracket[1]) if bracket else ()
    return Instruction(address, size, text, operation, Kind.PREFETCH, address_registers=place)


def _transfer(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction | None:
    match = _TRANSFER.fullmatch(operation)
    if match is None:
        return None
    name = match[1]
    is_load = name.startswith(("ld", "pop"))
    if name in ("push", "pop") or name[:3] in ("ldm", "stm"):
        listed = re.search(r"\{.*\}", operands)
        registers = core_registers(listed[0] if listed else "")
        base = ("r13",) if name in ("push", "pop") else core_registers(operands)[:1]
        writes_back = name in ("push", "pop") or "!" in operands
        kind = Kind.LOAD_MULTIPLE if is_load else Kind.STORE_MULTIPLE
        updated = base if writes_back else ()
        return Instruction(
            *(address, size, text, operation),
            Kind.POP_PC if is_load and "r15" in registers else kind,
            reads=() if is_load else registers,
            address_registers=base,
            writes=(*registers, *updated) if is_load else updated,
            count=len(registers),
            writes_back=writes_back,
        )
    return _single_transfer(address, size, text, operation, operands)


def _single_transfer(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction:
    is_load, is_pair = operation.startswith("ld"), operation.startswith(("ldrd", "strd"))
    bracket = re.search(r"\[(.*?)\]", operands)
    head = operands[: bracket.start()] if bracket else operands.split(",", maxsplit=1)[0]
    place = core_registers(bracket[1]) if bracket else ()
    after = operands[bracket.end() :].strip() if bracket else ""
    writes_back = bool(re.match(r"!|,\s*(#|r\d)", after))
    data, base = core_registers(head), place[:1] if writes_back else ()
    if is_load and "r15" in data:
        kind = Kind.LOAD_PC
    elif is_pair:
        kind = Kind.LOAD_PAIR if is_load else Kind.STORE_PAIR
    else:
        kind = Kind.LOAD if is_load else Kind.STORE
    return Instruction(
        *(address, size, text, operation, kind),
        reads=() if is_load else data,
        address_registers=place,
        writes=(*data, *base) if is_load else base,
        count=2 if is_pair else 1,
        writes_back=writes_back,
        has_register_offset=len(place) > 1,
    )


def _data_processing(
    address: int, size: int, text: str, operation: str, operands: str
) -> Instruction | None:
    name = _known(operation)
    if name is None:
        return None
    kind = _KINDS[name]
    parts = [core_registers(part) for part in split_operands(operands)]
    if kind is Kind.COMPARE:
        return Instruction(
            *(address, size, text, operation, kind),
            reads=core_registers(operands),
            is_shifted=bool(_SHIFT.search(operands)),
            sets_flags=True,
        )
    results = 2 if _LONG.match(name) else 1
    writes = tuple(register for part in parts[:results] for register in part)
    sources = parts[results:]
    addends: tuple[str, ...] = ()
    if kind is Kind.ACCUMULATE:
        addends = writes if results == 2 else (parts[-1] if len(parts) == 4 else ())
        sources = parts[results : results + 2]
    reads = [register for part in sources for register in part]
    is_two_operand = sum(1 for part in parts if part) <= 2
    if name in _KEEPS_TARGET or (
        is_two_operand and not _ONE_SOURCE.match(name) and results == 1 and parts
    ):
        reads += parts[0]
    return Instruction(
        *(address, size, text, operation, kind),
        reads=tuple(reads),
        addends=addends,
        writes=writes,
        is_shifted=_is_shifted(name, kind, size, operands, text),
        sets_flags=operation != name and operation.startswith(f"{name}s"),
    )


def _known(operation: str) -> str | None:
    """The operation without S and condition: `adds`, `addeq` and `addseq` are `add`."""
    plain = re.sub(rf"({_CONDITIONS})$", "", operation)
    for name in (operation, plain, operation.removesuffix("s"), plain.removesuffix("s")):
        if name in _KINDS:
            return name
    return None


def _is_shifted(name: str, kind: Kind, size: int, operands: str, text: str) -> bool:
    """Whether the shifter works on an operand, or on a rotated immediate."""
    if re.search(r"\b(lsl|lsr|asr|ror) #", operands):
        return not _NO_SHIFTER.match(name)
    immediate = re.search(r"#(-?\d+)", operands)
    if immediate is None or kind is not Kind.ALU or size != 4 or _PLAIN_IMMEDIATE.match(name):
        return False
    value = int(immediate[1]) & 0xFFFFFFFF
    is_plain = name in ("add", "sub") and value < 4096
    return value > 255 and not is_plain and (value & 0xFFFF) * 0x10001 != value
