"""The C interface of a packaged model: NAME.h and NAME.c, under the names of the model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cmcompiler.emit import interface_text as texts
from cmcompiler.emit.port_names import port_symbols
from cmcompiler.emit.source import comment, table
from cmcompiler.emit.status import ok_enumerators, ok_status
from cmcompiler.errors import Unsupported
from cmcompiler.plan.record import PlaceRecord, PlanRecord, PortRecord

C_TYPES = {
    **{f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}
"""Types of elements in C, by NumPy's name."""


_RUNTIME_NAME = re.compile(r"\b([cC])(?=[mM](?:RT)?_)")
_TWO_PIECES = r'\1" "'


@dataclass(frozen=True, slots=True)
class InterfacePort:
    """An input or output as the functions of a package name it.

    Attributes:
        symbol: what its functions begin with: `kws_input_image`.
        name: in the model: `image`; a key of a dictionary may be any text.
        record: of the plan.
    """

    symbol: str
    name: str
    record: PortRecord

    @property
    def macro(self) -> str:
        return self.symbol.upper()

    @property
    def ctype(self) -> str:
        return C_TYPES[self.record.dtype]

    @property
    def count(self) -> int:
        """Its elements."""
        return math.prod(self.record.shape)

    @property
    def is_fed(self) -> bool:
        """Its rows come or go one by one."""
        return self.record.feed == "rows"

    @property
    def has_steps(self) -> bool:
        """Its elements are quantised numbers."""
        return self.record.quantization is not None and self.record.dtype != "float32"


@dataclass(frozen=True, slots=True)
class PackageInterface:
    """The declarations of NAME.h.

    Attributes:
        plan: its `model` is the prefix of all symbols.
        classes: labels of the only output; empty if unknown.
        is_classifier: the outputs are scores of classes.
    """

    plan: PlanRecord
    inputs: tuple[InterfacePort, ...]
    outputs: tuple[InterfacePort, ...]
    classes: tuple[str, ...] = ()
    is_classifier: bool = False

    @classmethod
    def of(
        cls,
        plan: PlanRecord,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        classes: tuple[str, ...] = (),
        is_classifier: bool = False,
    ) -> PackageInterface:
        """
        Args:
            inputs, outputs: names in the model; those of the plan for empty names, and if their
                number is another.

        Raises:
            Unsupported: names an input or output whose elements C has no type for.
        """
        for port in (*plan.inputs, *plan.outputs):
            if port.dtype not in C_TYPES:
                raise Unsupported(
                    f"a package is impossible: {port.name} is {port.dtype}, which C does not have",
                    "convert it to float32 in the model",
                )
        made = cls(
            plan,
            _ports(f"{plan.model}_input", plan.inputs, inputs),
            _ports(f"{plan.model}_output", plan.outputs, outputs, is_classifier or bool(classes)),
            is_classifier=is_classifier,
        )
        only = len(made.outputs) == 1 and made.outputs[0].count == len(classes)
        return cls(plan, made.inputs, made.outputs, classes if only else (), is_classifier)

    @property
    def is_fed(self) -> bool:
        """Some inputs come row by row."""
        return any(port.is_fed for port in self.inputs)

    @property
    def is_drained(self) -> bool:
        """Some outputs go row by row."""
        return any(port.is_fed for port in self.outputs)

    @property
    def scores(self) -> tuple[InterfacePort, ...]:
        """The outputs with a best class."""
        if not self.is_classifier and not self.classes:
            return ()
        return tuple(
            port
            for port in self.outputs
            if port.count > 1 and port.ctype != "bool" and not port.is_fed
        )

    def header(self, notes: Iterable[str] = ()) -> str:
        """NAME.h: clean in C and C++, includes nothing but the standard's headers.

        Args:
            notes: further paragraphs for the comment at its top.
        """
        plan, name = self.plan, self.plan.model
        macro = name.upper()
        first = next(iter(self.inputs), None), next(iter(self.outputs), None)
        words = {"name": name, "macro": macro, "ok": ok_status(macro)}
        return texts.HEADER.format(
            **words,
            ok_enumerators=ok_enumerators(macro),
            isa=plan.isa,
            isa_macro=plan.isa.upper(),
            identity=plan.identity,
            arena_bytes=plan.arena_bytes,
            steps=len(plan.steps),
            example="\n".join(_example(name, macro, *first)),
            ports="\n\n".join(
                "\n".join(_declarations(port, self)) for port in (*self.inputs, *self.outputs)
            ),
            memory="".join(f" *\n{_wrapped(note)}" for note in (*self._memory_notes(), *notes)),
            labels=_label_declarations(self),
            waiting=texts.FED_STATUSES.format(**words) if self.is_fed else "",
            progress=(texts.FED_PROGRESS if self.is_fed or self.is_drained else "")
            + (texts.TAKING_FIELDS.format(**words) if self.is_drained else ""),
            run_note=texts.FED_RUN_NOTE.format(**words) if self.is_fed else "",
            taking_type=texts.TAKING_TYPE.format(**words) if self.is_drained else "",
            taking=texts.TAKING_DECLARATION.format(**words) if self.is_drained else "",
        )

    def source(self) -> str:
        """NAME.c; includes cmrt/ and NAME_plan.h."""
        plan, name = self.plan, self.plan.model
        words = {"name": name, "macro": name.upper(), "ok": ok_status(name.upper())}
        return texts.SOURCE.format(
            **words,
            includes=self._includes(),
            settle_progress=texts.FED_SETTLE if self.is_fed or self.is_drained else "",
            reset_takers="    model->take = NULL;\n" if self.is_drained else "",
            run=self._run(words),
            waiting_names=texts.FED_NAMES.format(**words) if self.is_fed else "",
            titles=table("char *const", "titles", (f"{c_string(s.title)}," for s in plan.steps)),
            op_name=texts.HOOK_TABLE.format(name=name, macro=name.upper()) if plan.steps else "",
            ports="\n".join(
                part for port in (*self.inputs, *self.outputs) for part in _definitions(port, self)
            ),
        )

    def _run(self, words: Mapping[str, str]) -> str:
        """The functions that run the model."""
        if not self.is_fed and not self.is_drained:
            return texts.RUN.format(**words)
        waiting = texts.FED_WAIT.format(**words) if self.is_fed else ""
        taking = texts.FED_TAKE.format(**words) if self.is_drained else ""
        text = texts.FED_RUN.format(waiting=waiting, taking=taking, **words)
        text += texts.FED_PUSH.format(**words) if self.is_fed else ""
        return text + ("\n" + texts.TAKING.format(**words) if self.is_drained else "")

    def _includes(self) -> str:
        lines = ["#include <string.h>\n"] if self.is_fed else []
        if any(port.has_steps for port in (*self.inputs, *self.outputs)):
            lines += ['#include "cmrt/arithmetic.h"', '#include "cmrt/rounding.h"']
        return "\n".join(lines) + "\n" if lines else ""

    def _memory_notes(self) -> Iterator[str]:
        yield (
            "A run may overwrite its inputs: write all of them before every run. Outputs are valid "
            "until the next run, or until an input that shares their memory is written."
        )
        pairs = [
            f"{output.name} with {source.name}"
            for output in self.outputs
            for source in self.inputs
            if not output.is_fed and _overlap(output.record.place, source.record.place)
        ]
        shared = ", ".join(map(comment, pairs)) if pairs else "none"
        yield f"Outputs that share memory with inputs: {shared}."
        if self.plan.states:
            yield (
                f"This model keeps {self.plan.state_bytes} bytes of state in its arena from run to "
                "run, so no other model may use the same arena."
            )
        else:
            yield (
                "This model keeps nothing in its arena from run to run: several models may use the "
                "same arena if each is done, its outputs read, before the next one's inputs are "
                "written. The largest size counts."
            )


def c_string(text: str) -> str:
    """A C string of any text, in UTF-8."""
    escaped = "".join(c if c.isprintable() and c not in '"\\?' else "?" for c in text)
    # In two pieces if it looks like a name of the runtime, which packages rename.
    return f'"{_RUNTIME_NAME.sub(_TWO_PIECES, escaped)}"'


def _ports(
    prefix: str, records: Sequence[PortRecord], names: Sequence[str], has_classes: bool = False
) -> tuple[InterfacePort, ...]:
    if len(names) != len(records):
        names = [record.name for record in records]
    names = [name or record.name for name, record in zip(names, records, strict=True)]
    symbols = port_symbols(prefix, names, records, has_classes)
    return tuple(map(InterfacePort, symbols, names, records))


def _overlap(one: PlaceRecord, other: PlaceRecord) -> bool:
    return (
        one.base == other.base
        and one.offset < other.offset + other.bytes
        and other.offset < one.offset + one.bytes
    )


def _wrapped(text: str) -> str:
    import textwrap

    return "".join(f" * {line}\n" for line in textwrap.wrap(text, 97))


def _example(
    name: str, macro: str, source: InterfacePort | None, output: InterfacePort | None
) -> Iterator[str]:
    yield f" *     static {macro}_ARENA(arena);"
    yield f" *     struct {name} model;"
    yield " *"
    yield f" *     if ({name}_init(&model, arena, sizeof arena) != {ok_status(macro)})"
    yield " *         return 1;"
    if output is not None and output.is_fed:
        yield f" *     {name}_on_rows(&model, show_row, NULL);"
    if source is not None and source.is_fed:
        yield f" *     while ({_push(source, name)}(&model, row, 1) == {macro}_WAITING)"
        yield " *         row = next_row();"
    elif source is not None:
        yield f" *     memcpy({source.symbol}(&model), data, {source.macro}_BYTES);"
    if source is None or not source.is_fed:
        yield f" *     if ({name}_run(&model) != {ok_status(macro)})"
        yield " *         return 1;"
    if output is not None and not output.is_fed:
        yield f" *     {output.ctype} first = {output.symbol}(&model)[0];"


def _push(port: InterfacePort, name: str) -> str:
    """The function that brings rows of an input."""
    return f"{name}_push_rows_{port.symbol.removeprefix(f'{name}_input_')}"


def _pushing(port: InterfacePort, name: str) -> str:
    """Its prototype."""
    parameters = f"struct {name} *model, const {port.ctype} *rows, uint32_t count"
    return f"enum {name}_status {_push(port, name)}({parameters})"


def _declarations(port: InterfacePort, interface: PackageInterface) -> Iterator[str]:
    record, macro, name = port.record, port.macro, interface.plan.model
    shape = "×".join(map(str, record.shape)) or "scalar"
    yield f"/* {comment(port.name)}: {record.dtype} {shape}, {comment(record.layout)} */"
    yield f"#define {macro}_COUNT {port.count}"
    yield f"#define {macro}_BYTES {record.place.bytes}"
    yield f"#define {macro}_SHAPE {{{', '.join(map(str, record.shape)) or '1'}}}"
    if record.quantization is not None:
        yield f"#define {macro}_SCALE {record.quantization.scale!r}f"
        yield f"#define {macro}_ZERO_POINT ({record.quantization.zero_point})"
    if record.rows is not None:
        yield f"#define {macro}_ROWS {record.rows}"
        yield f"#define {macro}_ROW_COUNT {port.count // record.rows}"
    if port.is_fed and port in interface.inputs:
        yield f"/* Brings `count` rows of {macro}_ROW_COUNT elements, in their order; the first one"
        yield " * starts a run. The outputs are complete once it returns OK instead of WAITING. */"
        yield f"{_pushing(port, name)};"
    elif port.is_fed:
        index = interface.outputs.index(port)
        yield f"/* Output {index} of the rows hook: {port.ctype}, {macro}_ROW_COUNT of them. */"
    else:
        const = "const " if port in interface.outputs else ""
        yield f"{const}{port.ctype} *{port.symbol}(const struct {name} *model);"
    if port.has_steps:
        yield "/* The nearest step to a number, as the model rounds, and the number of a step. */"
        yield f"{port.ctype} {port.symbol}_quantize(float number);"
        yield f"float {port.symbol}_dequantize({port.ctype} step);"


def _label_declarations(interface: PackageInterface) -> str:
    name, lines = interface.plan.model, []
    for port in interface.scores:
        title = comment(port.name)
        lines.append(f"/* The index of the largest element of {title}; UINT32_MAX if not bound. */")
        lines.append(f"uint32_t {port.symbol}_class(const struct {name} *model);\n")
    if interface.classes:
        (port,) = interface.outputs
        lines.append("/* The name of a class; NULL if there is no such class. */")
        lines.append(f"#define {name.upper()}_CLASSES {len(interface.classes)}")
        lines.append(f"const char *{name}_label(uint32_t index);\n")
        if interface.scores:
            lines.append("/* The name of the best class; NULL if not bound. */")
            lines.append(f"const char *{port.symbol}_label(const struct {name} *model);\n")
    return "\n".join(lines) + "\n" if lines else ""


def _definitions(port: InterfacePort, interface: PackageInterface) -> Iterator[str]:
    name, place = interface.plan.model, port.record.place
    const = "const " if port in interface.outputs else ""
    base = "model->arena" if place.base == "arena" else f"{name}_program.constants"
    pointer = f"(const void *)({base} + {place.offset})"
    if not const:
        pointer = f"(void *)({base} + {place.offset})"
    if port.is_fed and not const:
        yield (
            f"{_pushing(port, name)}\n{{\n"
            f"    return push(model, {interface.inputs.index(port)}, rows, count);\n}}\n"
        )
    elif not port.is_fed:
        yield (
            f"{const}{port.ctype} *{port.symbol}(const struct {name} *model)\n{{\n"
            f"    return {name}_is_ready(model) ? {pointer} : NULL;\n}}\n"
        )
    if port.has_steps:
        yield from _conversions(port)
    if port in interface.scores:
        yield (
            f"uint32_t {port.symbol}_class(const struct {name} *model)\n{{\n"
            f"    const {port.ctype} *scores = {port.symbol}(model);\n    uint32_t best = 0;\n"
            f"    if (scores == NULL)\n        return UINT32_MAX;\n"
            f"    for (uint32_t i = 1; i < {port.macro}_COUNT; ++i)\n"
            f"        if (scores[i] > scores[best])\n            best = i;\n    return best;\n}}\n"
        )
        if interface.classes:
            yield from _labels(port, interface)


def _labels(port: InterfacePort, interface: PackageInterface) -> Iterable[str]:
    name = interface.plan.model
    rows = (f"{c_string(label)}," for label in interface.classes)
    yield table("char *const", "labels", rows)
    yield (
        f"const char *{name}_label(uint32_t index)\n{{\n"
        f"    return index < {name.upper()}_CLASSES ? labels[index] : NULL;\n}}\n"
    )
    yield (
        f"const char *{port.symbol}_label(const struct {name} *model)\n{{\n"
        f"    return {name}_label({port.symbol}_class(model));\n}}\n"
    )


def _conversions(port: InterfacePort) -> Iterable[str]:
    scheme = port.record.quantization
    assert scheme is not None
    inverse = np.float32(1) / np.float32(scheme.scale)
    low, high = scheme.minimum - scheme.zero_point, scheme.maximum - scheme.zero_point
    yield (
        f"{port.ctype} {port.symbol}_quantize(float number)\n{{\n"
        f"    int32_t steps = cm_round_to_even(number * {float(inverse)!r}f);\n"
        f"    return ({port.ctype})(cm_clamp(steps, {low}, {high}) + {scheme.zero_point});\n}}\n"
    )
    yield (
        f"float {port.symbol}_dequantize({port.ctype} step)\n{{\n"
        f"    return (float)(step - {port.macro}_ZERO_POINT) * {port.macro}_SCALE;\n}}\n"
    )
