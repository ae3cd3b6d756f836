"""Static libraries: the common format of `ar`, as far as a linker needs it to be intact."""

from __future__ import annotations

from pathlib import Path

_MAGIC = b"!<arch>\n"
_HEADER = 60
_SIZE = slice(48, 58)  # decimal digits
_END = b"`\n"
_OBJECT = (b"\x7fELF", b"BC\xc0\xde")  # machine code, and LLVM's for link-time optimisation


def check_archive(file: Path) -> None:
    """Checks that a file is a static library of object files.

    Raises:
        OSError: it cannot be read.
        ValueError: it is something else, or cut off.
    """
    data = file.read_bytes()
    if not data.startswith(_MAGIC):
        raise ValueError(f"{file.name} is not an archive")
    place, objects = len(_MAGIC), 0
    while place < len(data):
        header = data[place : place + _HEADER]
        start = place + _HEADER
        end = start + int(header[_SIZE] or b"-1")
        if header[-len(_END) :] != _END or not start <= end <= len(data):
            raise ValueError(f"{file.name} is cut off")
        objects += data[start:end].startswith(_OBJECT)
        place = end + end % 2
    if objects == 0:
        raise ValueError(f"{file.name} has no object files")
