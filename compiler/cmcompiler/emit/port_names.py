"""Names of a package's ports: no two of its functions, and no two of its macros, are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cmcompiler.plan.record import PortRecord


def port_symbols(
    prefix: str, names: Sequence[str], records: Sequence[PortRecord], has_classes: bool = False
) -> list[str]:
    """Prefixes of each port's functions and, in upper case, macros.

    A name gets a number if what it adds to another one's would be the same: `a_row`, whose COUNT
    is the ROW_COUNT of `a`.

    Args:
        prefix: `kws_input`.
        has_classes: they are outputs that may have a best class.
    """
    symbols: list[str] = []
    taken: set[str] = set()
    for name, record in zip(names, records, strict=True):
        # input_0 of a program that knows no better name is kws_input_0.
        symbol = plain = f"{prefix}_{c_name(re.sub(r'^(in|out)put_(?=[0-9]+$)', '', name))}"
        number = 2
        while taken & (made := _made(symbol, record, has_classes)):
            symbol, number = f"{plain}_{number}", number + 1
        taken |= made
        symbols.append(symbol)
    return symbols


def _made(symbol: str, record: PortRecord, has_classes: bool) -> set[str]:
    """Functions and macros of a port, and its macros' beginning, which no other port has."""
    macros = ["", "_COUNT", "_BYTES", "_SHAPE"]
    functions = [""]
    if record.quantization is not None:
        macros += ["_SCALE", "_ZERO_POINT"]
        if record.dtype != "float32":
            functions += ["_quantize", "_dequantize"]
    if record.rows is not None:
        macros += ["_ROWS", "_ROW_COUNT"]
    if has_classes:
        functions += ["_class", "_label"]
    macro = symbol.upper()
    return {macro + end for end in macros} | {symbol + end for end in functions}


def c_name(text: str) -> str:
    """Any text as a part of a C identifier, its case kept."""
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_") or "unnamed"
