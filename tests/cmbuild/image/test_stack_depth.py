"""Depths from machine code equal the compiler's own figures, and add up along calls."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild.image.stack_depth import StackDepths, UnknownDepth, stack_need

CODE = """
typedef int handler(int);
volatile int sink;
__attribute__((section(".vectors"), used)) static const unsigned table[4];
__attribute__((noinline)) int large(int n) { volatile char a[700]; a[n] = 1; return a[n / 2]; }
__attribute__((noinline)) float number(float x) { volatile float a[20]; a[0] = x; return a[0] * x; }
__attribute__((noinline)) int chosen(int n)
{
    volatile int a[9];
    switch (n) {
    case 0: a[1] = 7; return large(n) + a[1];
    case 1: return sink * 3;
    case 2: sink = 4; return 11;
    case 3: sink = 9; return (int)number(3.0f);
    case 4: return sink + 5;
    case 5: sink = 1; return 0;
    default: return n;
    }
}
__attribute__((noinline)) int leaf(int n) { volatile int a[5]; a[0] = n; return a[0]; }
__attribute__((noinline)) int hook(int n)
{
    volatile int a[31];
    a[0] = n;
    return leaf(a[0]) + a[0];
}
handler *const handlers[] = {hook};
__attribute__((noinline)) int by_pointer(int n)
{
    volatile int a[3];
    a[n] = 1;
    return handlers[n](n) + a[0];
}
void cm_fault(void) { for (;;) {} }
void cm_reset(void) { sink = chosen(sink); sink = by_pointer(sink); for (;;) {} }
__attribute__((interrupt)) void tick(void) { volatile int a[17]; a[0] = sink; sink = a[0] + 1; }
__attribute__((noinline)) int walk(int n)
{
    volatile int a[3];
    a[0] = n;
    return n ? walk(n - 1) + a[0] : 0;
}
__attribute__((noinline)) int row(int n) { volatile char a[n]; a[0] = 1; return a[n - 1]; }
"""
VECTORS = "{0x20001000, (unsigned)cm_reset, (unsigned)cm_fault, (unsigned)tick}"


@pytest.fixture(scope="module", params=["cortex-m0plus", "cortex-m4", "cortex-m55"])
def image(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("depth")
    declared = "void cm_reset(void), cm_fault(void);\nvoid tick(void) __attribute__((interrupt));\n"
    source = folder / "code.c"
    source.write_text(declared + CODE.replace("table[4];", f"table[4] = {VECTORS};"))
    flags = ("-Os", f"-mcpu={request.param}", "-mthumb", "-mfloat-abi=soft", "-fno-ipa-cp")
    link = ("-nostartfiles", "-nodefaultlibs", "-lgcc", "-e", "cm_reset", "-fstack-usage")
    command = ["arm-none-eabi-gcc", *flags, str(source), "-o", "image.elf", *link]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "image.elf"


def stated(image: Path) -> dict[str, int]:
    """Each function's own frame, as gcc states it."""
    (file,) = image.parent.glob("*.su")
    rows = (line.split("\t") for line in file.read_text().splitlines())
    return {place.rsplit(":", 1)[1]: int(size) for place, size, _ in rows}


def test_depths_are_the_compilers_figures_added_up(image: Path) -> None:
    depths, own = StackDepths(image), stated(image)
    for name in ("large", "leaf"):
        assert depths.of([name]) == own[name]
    assert depths.of(["hook"]) == own["hook"] + own["leaf"]
    assert depths.of(["chosen"]) == own["chosen"] + max(own["large"], depths.of(["number"]))
    assert depths.of(["by_pointer"]) == own["by_pointer"] + own["hook"] + own["leaf"]
    below = max(depths.of(["chosen"]), depths.of(["by_pointer"]))
    assert depths.of(["cm_reset"]) == own["cm_reset"] + below
    assert depths.of(["none", "leaf"]) == own["leaf"]


def test_an_image_needs_room_for_its_interrupts(image: Path) -> None:
    depths, own = StackDepths(image), stated(image)
    (handler,) = depths.handlers()
    assert handler - own["tick"] in (0, 4)  # where the handler aligns the stack
    most = depths.of(["cm_reset"]) + handler
    assert 0 <= stack_need(image, has_limit=True, has_floats=False) - (most + 36 + 512) < 64
    assert 0 <= stack_need(image, has_limit=False, has_floats=True) - (most + 108 + 768) < 64


@pytest.mark.parametrize(
    ("name", "problem"),
    [("walk", "walk calls itself"), ("row", "row computes how much it takes")],
)
def test_what_only_a_run_knows_is_said(image: Path, name: str, problem: str) -> None:
    with pytest.raises(UnknownDepth, match=f"^{problem}$"):
        StackDepths(image).of([name])
