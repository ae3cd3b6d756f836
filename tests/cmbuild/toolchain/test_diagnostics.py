"""Of what a tool prints, an error quotes the line that explains it."""

from __future__ import annotations

import pytest

from cmbuild.toolchain.diagnostics import telling_line


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ("x.c:3: warning: w\nx.c:4:1: error: e\nninja: error: stopped", "x.c:4:1: error: e"),
        ("/bin/ld:/b/link.ld:6: syntax error\ncollect2: error: ld returned 1", None),
        ("ld.lld: error: duplicate symbol: f\nclang: error: ld.lld command failed", None),
        ("/bin/ld: a.o: in function `f':\na.c:2: undefined reference to `g'", "a.c:2: undefined"),
        ("/bin/ld: warning: orphan section\n/bin/ld: cannot find -lm: no", "/bin/ld: cannot find"),
        (
            "CMake Error at a/b.cmake:7 (message):\n  no such\n  thing\n\n"
            "-- Configuring incomplete, errors occurred!\nSee also CMakeFiles/CMakeError.log",
            "CMake Error at a/b.cmake:7 (message): no such thing",
        ),
        (
            "Cloning into 'x'...\nfatal: unable to access 'https://x/': no host\n"
            "CMake Error at b.cmake:7 (message):\n  Failed to clone\n\nSee also CMakeError.log",
            "fatal: unable to access 'https://x/': no host",
        ),
        (
            "-- Found dtc\nParsing /z/Kconfig\n/z/kconfig.py: \nDependency loop\n=====\n\n"
            "A (defined at Kconfig:3), with definition...\n\n  config A\n\n...depends on B\n"
            "CMake Error at kconfig.cmake:343 (message):\n  command failed with return code: 1\n"
            "Call Stack (most recent call first):\n",
            "/z/kconfig.py: Dependency loop A (defined at Kconfig:3), with definition... config A",
        ),
        (
            "-- Found dtc\ndevicetree error: /chosen: undefined node label 'isram'\n-- In: /z\n"
            "CMake Error at dts.cmake:9 (message):\n  gen_defines.py failed with return code: 1\n",
            "devicetree error: /chosen: undefined node label 'isram'",
        ),
        ("first\nError: parameter x not found\nbye", "Error: parameter x not found"),
        ("first\nlast\n", "last"),
        ("", "it printed nothing"),
    ],
)
def test_the_line_that_tells_most(output: str, detail: str | None) -> None:
    wanted = output.splitlines()[0] if detail is None else detail
    assert " ".join(telling_line(output).split()).startswith(wanted)
