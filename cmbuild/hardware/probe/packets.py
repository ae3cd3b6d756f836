"""Packets of gdb's remote protocol: https://sourceware.org/gdb/current/onlinedocs/gdb.html/Remote-Protocol.html"""

from __future__ import annotations

_ESCAPE, _FLIP = 0x7D, 0x20
_RUN, _RUN_BASE = 0x2A, 29
_SPECIAL = b"#$}*"


def packed(data: bytes) -> bytes:
    """A packet with its checksum."""
    return b"$%s#%02x" % (data, sum(data) & 0xFF)


def escaped(data: bytes) -> bytes:
    """Binary data as a packet has it."""
    return b"".join(
        bytes((_ESCAPE, byte ^ _FLIP)) if byte in _SPECIAL else bytes((byte,)) for byte in data
    )


def unpacked(buffer: bytearray) -> bytes | None:
    """Takes the first whole packet off a buffer; None until there is one. Acknowledgements and
    damaged packets are dropped: the connection is TCP, or on this machine.
    """
    start = buffer.find(b"$")
    end = buffer.find(b"#", start)
    if start < 0 or end < 0 or len(buffer) < end + 3:
        return None
    data, sent = bytes(buffer[start + 1 : end]), bytes(buffer[end + 1 : end + 3])
    del buffer[: end + 3]
    if sent.lower() != b"%02x" % (sum(data) & 0xFF):
        return unpacked(buffer)
    return _plain(data)


def _plain(data: bytes) -> bytes:
    """Without escapes and run lengths."""
    out, at = bytearray(), 0
    while at < len(data):
        byte = data[at]
        if byte == _ESCAPE and at + 1 < len(data):
            out.append(data[at + 1] ^ _FLIP)
            at += 2
        elif byte == _RUN and out and at + 1 < len(data):
            out += out[-1:] * max(0, data[at + 1] - _RUN_BASE)
            at += 2
        else:
            out.append(byte)
            at += 1
    return bytes(out)
