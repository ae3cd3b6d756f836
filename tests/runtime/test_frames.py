"""Frames of the runtime and of cmbuild, compared with each other and with PyPI's `cobs`."""

from __future__ import annotations

import subprocess
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from cmbuild import paths
from cmbuild.hardware.frames import LONGEST, Decoder, encode

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-std=c11", "-Wall")

MESSAGES = st.one_of(
    st.binary(max_size=LONGEST),
    st.lists(st.sampled_from([0, 1, 255]), max_size=LONGEST).map(bytes),
    st.integers(250, 260).map(lambda count: b"\1" * count),
    st.integers(250, 260).map(lambda count: b"\1" * count + b"\0"),
)
NOISE = st.lists(
    st.one_of(
        MESSAGES.map(encode), st.binary(max_size=40), st.sampled_from([b"\0", b"\xff" * 1500])
    ),
    max_size=8,
).map(b"".join)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("frames") / "frames"
    runtime = paths.runtime()
    sources = [
        Path(__file__).parent / "frames" / "main.c",
        runtime / "runner" / "frame.c",
        runtime / "runner" / "checksum.c",
    ]
    include = f"-I{runtime / 'include'}"
    subprocess.run(["cc", *SANITIZED, include, *sources, "-o", out], check=True)
    return out


def run(program: Path, word: str, data: bytes) -> bytes:
    done = subprocess.run([program, word], input=data, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def decoded(program: Path, data: bytes) -> list[bytes]:
    return [bytes.fromhex(line) for line in run(program, "decode", data).decode().splitlines()]


@given(MESSAGES)
def test_encoding_is_cobs(message: bytes) -> None:
    frame = encode(message)
    assert frame[0] == frame[-1] == 0
    assert b"\0" not in frame[1:-1]
    body = cobs.decode(frame[1:-1])
    assert body == message + zlib.crc32(message).to_bytes(4, "little")


@settings(max_examples=60)
@given(message=MESSAGES)
def test_the_device_encodes_alike(program: Path, message: bytes) -> None:
    assert run(program, "encode", message) == encode(message)


@settings(max_examples=60)
@given(messages=st.lists(MESSAGES, max_size=5))
def test_the_device_decodes_all(program: Path, messages: list[bytes]) -> None:
    assert decoded(program, b"".join(map(encode, messages))) == messages


@pytest.mark.parametrize("inner", [b"", b"abc"])
def test_a_message_that_holds_a_message_comes_once(program: Path, inner: bytes) -> None:
    message = inner + zlib.crc32(inner).to_bytes(4, "little")
    assert decoded(program, encode(message) * 2) == [message] * 2


def test_the_longest_message(program: Path) -> None:
    message = bytes(range(256)) * 4 + bytes(LONGEST - 1024)
    assert decoded(program, encode(message)) == [message]
    with pytest.raises(ValueError, match=f"{LONGEST + 1} bytes"):
        encode(bytes(LONGEST + 1))
    too_long = subprocess.run([program, "encode"], input=bytes(LONGEST + 1), check=False)
    assert too_long.returncode == 1


@settings(max_examples=100)
@given(noise=NOISE, message=MESSAGES)
def test_both_find_the_same_in_noise(program: Path, noise: bytes, message: bytes) -> None:
    messages = list(Decoder().feed(noise + encode(message)))
    assert decoded(program, noise + encode(message)) == messages
    assert messages[-1] == message, "noise costs no more than itself"


@given(noise=NOISE, cuts=st.lists(st.integers(0, 3000), max_size=5))
def test_pieces_make_no_difference(noise: bytes, cuts: list[int]) -> None:
    decoder, messages = Decoder(), []
    places = [0, *sorted(min(cut, len(noise)) for cut in cuts), len(noise)]
    for start, end in pairwise(places):
        messages += decoder.feed(noise[start:end])
    assert messages == list(Decoder().feed(noise))


@given(MESSAGES, st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_noticed(message: bytes, place: int, bit: int) -> None:
    frame = bytearray(encode(message))
    frame[1 + place % (len(frame) - 2)] ^= 1 << bit
    assert message not in Decoder().feed(bytes(frame))
