"""The sources of a plan's constants: assembly that includes their file, or an array in C."""

from __future__ import annotations

WEIGHTS_SECTION = '    .section .weights, "a", %progbits'
"""The directive for constants that link scripts place by themselves."""

_ASSEMBLY = """\
/* {title}. */
{section}
    .balign 16
    .global {symbol}
    .type {symbol}, %object
{symbol}:
    .incbin "{file}"
    .size {symbol}, . - {symbol}

    .section .note.GNU-stack, "", %progbits
"""

_ARRAY = """\
#include <stdint.h>

extern const uint8_t {name}[{size}];
const uint8_t {name}[{size}] __attribute__((aligned(16))) = {{
{rows}
}};
"""


def assembly(name: str, weights: str, section: str = WEIGHTS_SECTION) -> str:
    """model.S: includes the constants file beside it.

    Args:
        section: the directive that starts the section of the constants.
    """
    return included(f"The constants of {name}", f"{name}_weights", weights, section)


def included(title: str, symbol: str, file: str, section: str) -> str:
    """Assembly that includes a file of bytes as a symbol, in the section of a directive."""
    return _ASSEMBLY.format(title=title, symbol=symbol, file=file, section=section)


def byte_array(name: str, content: bytes) -> str:
    """A C file with constants as an array, for compilers that cannot include a file of bytes."""
    lines = (content[start : start + 24] for start in range(0, len(content), 24))
    rows = "\n".join(f"    {','.join(map(str, line))}," for line in lines)
    return _ARRAY.format(name=name, size=len(content), rows=rows)
