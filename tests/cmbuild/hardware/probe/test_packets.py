"""Packets of gdb's remote protocol."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cmbuild.hardware.probe.packets import escaped, packed, unpacked


@given(data=st.binary(max_size=80), before=st.sampled_from([b"", b"+", b"++-"]))
def test_binary_data_comes_back(data: bytes, before: bytes) -> None:
    buffer = bytearray(before + packed(escaped(data)) + b"$OK#9a")
    assert unpacked(buffer) == data
    assert unpacked(buffer) == b"OK"
    assert unpacked(buffer) is None


@given(data=st.binary(max_size=200))
def test_whatever_comes_is_read_or_waits_for_more(data: bytes) -> None:
    buffer = bytearray(data)
    while unpacked(buffer) is not None:
        pass


def test_run_lengths_and_damage() -> None:
    """`0* ` is four zeros (29 is taken off the count); a packet with a wrong sum is dropped."""
    assert unpacked(bytearray(packed(b"0* x"))) == b"0000x"
    assert unpacked(bytearray(b"$OK#00$E01#a6")) == b"E01"
    assert unpacked(bytearray(b"$OK#9")) is None
