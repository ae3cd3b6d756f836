"""Intel HEX files: an image as lines of text.

The format: "Hexadecimal Object File Format Specification" (Intel, 1988).
"""

from __future__ import annotations

from collections.abc import Iterable

_LINE = 16
_DATA, _END, _UPPER_ADDRESS, _START = 0, 1, 4, 5


def encode(segments: Iterable[tuple[int, bytes]], entry: int) -> str:
    """The file for an image.

    Args:
        segments: addresses and bytes.
        entry: where execution begins.
    """
    lines: list[str] = []
    upper = 0
    for address, data in segments:
        start = 0
        while start < len(data):
            here = address + start
            if here >> 16 != upper:
                upper = here >> 16
                lines.append(_record(_UPPER_ADDRESS, 0, upper.to_bytes(2, "big")))
            # A record does not cross a 64 KiB boundary.
            piece = data[start : start + min(_LINE, 0x10000 - (here & 0xFFFF))]
            lines.append(_record(_DATA, here & 0xFFFF, piece))
            start += len(piece)
    lines.append(_record(_START, 0, entry.to_bytes(4, "big")))
    lines.append(_record(_END, 0, b""))
    return "".join(lines)


def _record(kind: int, address: int, data: bytes) -> str:
    record = bytes([len(data), address >> 8, address & 0xFF, kind]) + data
    checksum = -sum(record) & 0xFF
    return f":{record.hex().upper()}{checksum:02X}\n"
