"""Packages on FreeRTOS: two models in four tasks and an interrupt, in QEMU."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.packages import SOURCES, documented, firmware, run, simulate

from cmbuild.catalog import find_board

TREE = os.environ.get("CMBUILD_FREERTOS_TREE", "")
"""A folder with FreeRTOS's kernel, V11: tasks.c, include/ and portable/GCC/."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not TREE, reason="$CMBUILD_FREERTOS_TREE does not name FreeRTOS's kernel"),
]

PORTS = {
    "mps2-an385": "ARM_CM3",
    "mps2-an386": "ARM_CM4F",
    "mps2-an505": "ARM_CM33_NTZ/non_secure",
    "corstone300": "ARM_CM55_NTZ/non_secure",
}
OPTIONS = {"size": "-Os", "speed": "-O2", "whole": "-O2;-flto"}
PORT_HANDLERS = ("vPortSVCHandler", "xPortPendSVHandler", "xPortSysTickHandler")
SECURE_HANDLERS = ("SVC_Handler", "PendSV_Handler", "SysTick_Handler")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("board", PORTS)
def test_four_tasks_and_an_interrupt_share_two_models(
    board: str, options: str, packages: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    kernel, port = Path(TREE).absolute(), Path(TREE).absolute() / "portable/GCC" / PORTS[board]
    files = [*(kernel / f"{name}.c" for name in ("tasks", "list")), *sorted(port.glob("port*.c"))]
    folders = (SOURCES / "freertos", kernel / "include", port)
    lines = [
        "add_library(freertos OBJECT",
        *(f'    "{file}"' for file in files),
        ")",
        "target_compile_options(freertos PRIVATE -w)",
        # Its literals would be too far away in a program that is compiled as a whole.
        f'set_source_files_properties("{port}/portasm.c" PROPERTIES COMPILE_OPTIONS -fno-lto)',
        *(f'target_include_directories(freertos PUBLIC "{folder}")' for folder in folders),
    ]
    handlers = SECURE_HANDLERS if "NTZ" in PORTS[board] else PORT_HANDLERS
    image = firmware(
        tmp_path,
        packages(find_board(board).cpu),
        "freertos/main.c",
        board,
        handlers={**dict(zip((11, 14, 15), handlers, strict=True)), 16 + 31: "handle"},
        before=f'add_compile_options("$<$<COMPILE_LANGUAGE:C>:{OPTIONS[options]}>")',
        after="\n".join(
            [
                *lines,
                "target_link_libraries(firmware PRIVATE freertos)",
                "target_include_directories(firmware SYSTEM PRIVATE "
                + " ".join(f'"{folder}"' for folder in folders)
                + ")",
                f"target_link_options(firmware PRIVATE {OPTIONS[options]})",
            ]
        ),
    )
    printed = simulate(image, board)
    assert "cmrt wrong 0\n" in printed
    assert printed.endswith("cmrt end 0\n")
    for name in ("interrupts", "switches"):
        count = re.search(rf"^cmrt {name} ([0-9a-f]+)$", printed, re.MULTILINE)
        assert count is not None and int(count[1], 16) > 0


def test_the_example_of_the_documents_compiles(
    packages: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    kws = packages("cortex-m4")[0]
    port = Path(TREE) / "portable/GCC/ARM_CM4F"
    (tmp_path / "task.c").write_text(documented("freertos"))
    folders = [f"-I{kws}"]
    folders += [f"-isystem{path}" for path in (SOURCES / "freertos", Path(TREE) / "include", port)]
    flags = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-Wall", "-Wextra", "-Werror")
    run("arm-none-eabi-gcc", *flags, *folders, "-c", tmp_path / "task.c", "-o", tmp_path / "task.o")
