"""Products that Armv6-M makes of halves, compiled for this computer, against 64-bit ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild import paths

PROGRAM = """
#include "cmrt/arithmetic.h"

static int32_t exact(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

int main(void)
{
    static const int32_t edges[16] = {
        INT32_MIN, INT32_MIN + 1, -65536, -65535, -32769, -32768,     -1,            0,
        1,         32767,         32768,  65535,  65536,  0x3fffffff, INT32_MAX - 1, INT32_MAX,
    };
    uint32_t state = 1;
    for (int32_t i = 0; i < 4000000; ++i) {
        state = state * 1664525 + 1013904223;
        int32_t a = i % 8 == 0 ? edges[state >> 16 & 15] : (int32_t)state >> (i & 15);
        state = state * 1664525 + 1013904223;
        int32_t b = i % 5 == 0 ? edges[state >> 16 & 15] : (int32_t)state >> (i / 16 & 15);
        if (DOMAIN && FUNCTION(a, b) != exact(a, b))
            return 1;
    }
    return 0;
}
"""


@pytest.mark.parametrize(
    ("function", "domain"),
    [
        ("cm_doubling_high_multiply", "(a != INT32_MIN || b != INT32_MIN)"),
        ("cm_doubling_high_multiply_short", "(a > -65536 && a < 65536)"),
    ],
)
def test_products_of_halves_are_exact(tmp_path: Path, function: str, domain: str) -> None:
    source, program = tmp_path / "products.c", tmp_path / "products"
    source.write_text(PROGRAM)
    flags = ["-D__thumb__", "-DCM_PORTABLE", f"-DFUNCTION={function}", f"-DDOMAIN={domain}"]
    sanitized = ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover"]
    include = f"-I{paths.runtime() / 'include'}"
    subprocess.run(["cc", *flags, *sanitized, include, source, "-o", program], check=True)
    subprocess.run([program], check=True, timeout=60)
