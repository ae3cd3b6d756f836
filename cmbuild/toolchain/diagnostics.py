"""Errors that tools print."""

from __future__ import annotations

import re

# A compiler's; those of GNU's and LLVM's linkers, which also print warnings and context.
_DIAGNOSTIC = re.compile(
    r":\d+: (fatal |syntax )?error|undefined reference to "
    r"|\bld(\.\w+)?: ?(?!.*(warning: |in function ))"
)
# Errors of git, run by CMake, and of CMake, whose explanation follows in indented lines.
_CONFIGURATION = re.compile(r"^\s*fatal: .+|^CMake Error.*(\n[ \t]+\S.*)*", re.MULTILINE)
# CMake's words for a script that failed, as Zephyr's for devicetree and Kconfig; the script's own
# come before, after CMake's messages and the script's about its progress.
_SCRIPT = re.compile(r"^CMake Error.*\n\s+.*failed with return code: \d+", re.MULTILINE)
_PROGRESS = re.compile(r"(-- |Parsing |Loaded configuration |Merged configuration )")
_UNDERLINE = re.compile(r"[=-]+")
_LONGEST = 400  # characters of a script's words


def telling_line(output: str) -> str:
    """The first error of a compiler or linker, else of git, CMake or a script of CMake's, else the
    last line that mentions one, else the last line.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    diagnostics = [line for line in lines if _DIAGNOSTIC.search(line)]
    if words := _words_of_script(output):
        diagnostics.append(words)
    diagnostics += [match[0] for match in _CONFIGURATION.finditer(output)]
    errors = [line for line in lines if "error" in line.lower()]
    return diagnostics[0] if diagnostics else (errors or lines or ["it printed nothing"])[-1]


def _words_of_script(output: str) -> str | None:
    """The words of a script that CMake ran and that failed; None if none did."""
    failed = _SCRIPT.search(output)
    if failed is None:
        return None
    lines: list[str] = []
    for line in reversed(output[: failed.start()].splitlines()):
        if _PROGRESS.match(line):
            if lines:
                break
        elif line.strip() and not _UNDERLINE.fullmatch(line.strip()):
            lines.append(" ".join(line.split()))
    words = " ".join(reversed(lines))
    return f"{words[:_LONGEST]} …" if len(words) > _LONGEST else words or None
