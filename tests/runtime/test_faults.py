"""Every failure of an image ends with a clear error and a kept log."""

from __future__ import annotations

import pytest
from harness.toy_image import INTERFACE, write_toy_model

from cmbuild.errors import TimedOut
from cmbuild.launchers.base import EndedEarly, Refused
from cmbuild.launchers.execution import Request, execute
from cmbuild.launchers.fault import Fault

RECURSION = """\
static int deep(volatile int n)
{
    volatile char local[100];
    local[0] = (char)n;
    return n == 0 ? local[0] : deep(n - 1) + local[0];
}"""
HOST = '#include "cmrt/host.h"'

FAULTS = {
    "null read": ("(void)*(volatile int *)0;", "HardFault: access denied at 0x00000000, in first"),
    "null write": ("*(volatile int *)8 = 1;", "HardFault: access denied at 0x00000008, in first"),
    "null call": ("((void (*)(void))0)();", "HardFault: instruction fetch denied"),
    "no memory": ("(void)*(volatile int *)0x50f00000;", "no memory there at 0x50f00000, in first"),
    "undefined": ('__asm__ volatile("udf #0");', "undefined instruction, in first (body.h:"),
    "ARM state": ("((void (*)(void))0x10000800)();", "not Thumb code"),
    "unaligned": ("*(volatile int64_t *)(context->arena + 1) = 1;", "unaligned access, in first"),
    "division": (
        "volatile int one = 1, zero = 0; context->arena[0] = (uint8_t)(one / zero);",
        "division by zero, in first",
    ),
    "stack": ("context->arena[0] = (uint8_t)deep(100000);", "HardFault: stack overflow"),
    "interrupt": (
        # NVIC_ISER0 and NVIC_ISPR0
        "*(volatile uint32_t *)0xe000e100 = 8; *(volatile uint32_t *)0xe000e200 = 8;"
        '__asm__ volatile("cpsie i\\n\\tisb");',
        "unexpected interrupt 3, in first",
    ),
    "stack pointer": (
        '__asm__ volatile("msr msplim, %0; mov sp, %0; udf #0" ::"r"(0x50f00000));',
        "undefined instruction, stack overflow",
    ),
    "service call": ('__asm__ volatile("cpsie i\\n\\tsvc 0");', "SVCall, in first"),
}


def run(place, folder, body, helpers=HOST, *, timeout=60.0):
    model = write_toy_model(folder / "model", body + " (void)context;", helpers=helpers)
    image = place.builder.runner(place.board, place.library, model, folder / "build")
    return execute(
        place.launcher,
        place.builder.processes,
        image,
        INTERFACE,
        Request(samples=[[bytes(100)]]),
        folder=folder / "streams",
        timeout=timeout,
        log=folder / "log",
    )


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_and_where(name, bench, tmp_path):
    body, message = FAULTS[name]
    with pytest.raises(Fault) as error:
        run(bench("corstone300", "mve"), tmp_path, body, RECURSION if "deep" in body else HOST)
    assert message in error.value.message
    assert "cmrt fault cfsr" in (tmp_path / "log").read_text()


def test_a_lockup_is_told(bench, tmp_path):
    body = '*(volatile uint32_t *)0xe000ed08 = 0x70000000; __asm__ volatile("dsb; udf #0");'  # VTOR
    with pytest.raises(EndedEarly, match=r"was killed by SIGABRT .* qemu: fatal: Lockup"):
        run(bench("corstone300", "mve"), tmp_path, body)


def test_a_fault_after_the_end_is_a_fault(bench, tmp_path):
    body = 'cm_host_print("cmrt end 0\\n"); __asm__ volatile("udf #0");'
    with pytest.raises(Fault):
        run(bench("corstone300", "mve"), tmp_path, body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cm_host_exit(0);", EndedEarly),
        ("cm_host_exit(3);", EndedEarly),
        # The simulator reduces it modulo 256.
        ("cm_host_exit(256);", EndedEarly),
        ('cm_host_print("cmrt end 1\\n"); cm_host_exit(0);', EndedEarly),
        ('cm_host_print("cmrt end 0\\n"); cm_host_exit(1);', EndedEarly),
        ('cm_host_print("cmrt error no luck\\n"); cm_host_exit(0);', Refused),
    ],
)
@pytest.mark.parametrize("place", [("corstone300", "mve"), ("native", "scalar")], ids="-".join)
def test_an_early_end_is_no_success(place, body, expected, bench, tmp_path):
    with pytest.raises(expected):
        run(bench(*place), tmp_path, body)


@pytest.mark.parametrize(
    "body",
    [
        'for (;;) __asm__ volatile("");',
        pytest.param('for (;;) __asm__ volatile("wfi");', marks=pytest.mark.long),
    ],
)
def test_a_hang_is_stopped(body, bench, tmp_path):
    with pytest.raises(TimedOut) as error:
        run(bench("corstone300", "mve"), tmp_path, body, timeout=4.0)
    assert "cmrt runner" in (tmp_path / "log").read_text()
    assert "--timeout" in error.value.hint


def test_a_sanitizer_report_is_a_fault(bench, tmp_path):
    with pytest.raises(Fault) as error:
        run(bench("native", "scalar"), tmp_path, "context->arena[176] = 1;")
    assert "AddressSanitizer: global-buffer-overflow" in error.value.message
    with pytest.raises(Fault) as error:
        body = "volatile int big = 40; context->arena[0] = (uint8_t)(1 << big);"
        run(bench("native", "scalar"), tmp_path / "2", body)
    assert "shift exponent 40 is too large" in error.value.message
