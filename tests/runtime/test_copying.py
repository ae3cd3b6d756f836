"""memcpy and memset with Helium: every length and alignment, nothing beside what they write."""

from __future__ import annotations

import pytest
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.launchers.execution import Request, execute
from cmbuild.process import Processes
from cmbuild.sizing.linking import link
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target

HELPERS = """\
#include <string.h>

enum { LENGTHS = 70, ALIGNMENTS = 16, SIZE = LENGTHS + 2 * ALIGNMENTS };

static uint8_t from[SIZE], to[SIZE];

/* Through pointers that the compiler does not know, or it would write loops of its own. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;

static bool holds(uint32_t place, uint32_t length, const uint8_t *wanted, uint8_t value)
{
    for (uint32_t i = 0; i < SIZE; ++i) {
        uint8_t inside = wanted != NULL ? wanted[i - place] : value;
        if (to[i] != (i >= place && i < place + length ? inside : 0x5a))
            return false;
    }
    return true;
}

static void reset(void)
{
    for (uint32_t i = 0; i < SIZE; ++i) {
        *(volatile uint8_t *)&from[i] = (uint8_t)(i * 7 + 1);
        *(volatile uint8_t *)&to[i] = 0x5a;
    }
}

static uint8_t mistakes(void)
{
    bool right = true;
    for (uint32_t length = 0; length <= LENGTHS; ++length)
        for (uint32_t place = 0; place < ALIGNMENTS; ++place) {
            reset();
            right = right && fill(to + place, (int)(length + 0x1f0), length) == to + place;
            right = right && holds(place, length, NULL, (uint8_t)(length + 0xf0));
            for (uint32_t start = 0; start < ALIGNMENTS; ++start) {
                reset();
                right = right && copy(to + place, from + start, length) == to + place;
                right = right && holds(place, length, from + start, 0);
            }
        }
    return !right;
}"""


@pytest.mark.parametrize("isa", ["mve", "scalar"])
def test_memory_is_copied_and_filled_as_c_defines_it(isa, bench, tmp_path):
    place = bench("corstone300", isa)
    model = write_toy_model(
        tmp_path / "model",
        "context->arena[0] = (uint8_t)(context->arena[0] + mistakes());",
        helpers=HELPERS,
    )
    image = place.builder.runner(place.board, place.library, model, tmp_path / "build")
    sample = bytes(range(100))
    request = Request(samples=[[sample]])
    log = tmp_path / "log"
    run = execute(
        place.launcher,
        Processes(),
        image,
        INTERFACE,
        request,
        folder=tmp_path / "streams",
        timeout=60.0,
        log=log,
    )
    assert tuple(run.outputs[0]) == expected(sample)


def test_images_with_helium_have_functions_of_their_own(bench, tmp_path):
    processes, log = Processes(), tmp_path / "log"
    gcc, target = find_toolchain("gcc", processes, log), Target.parse("cortex-m55", "mve")
    library, names = bench("corstone300", "mve").library, ("memcpy", "memset")
    assert 0 < link([library], names, gcc, target, processes=processes, log=log).code < 80
