"""The sources of a plan's constants: assembly that includes their file, or an array in C."""

from __future__ import annotations

WEIGHTS_SECTION = '    .section .weights, "a", %progbits'
"""The directive for constants that link scripts place by themselves."""

_ASSEMBLY = """\
/* The constants of {name}. */
{section}
    .balign 16
    .global {name}_weights
    .type {name}_weights, %object
{name}_weights:
    .incbin "{weights}"
    .size {name}_weights, . - {name}_weights

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
    return _ASSEMBLY.format(name=name, weights=weights, section=section)


def byte_array(name: str, content: bytes) -> str:
    """A C file with constants as an array, for compilers that cannot include a file of bytes."""
    lines = (content[start : start + 24] for start in range(0, len(content), 24))
    rows = "\n".join(f"    {','.join(map(str, line))}," for line in lines)
    return _ARRAY.format(name=name, size=len(content), rows=rows)
