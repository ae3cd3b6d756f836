"""Whatever a board says, the host answers or refuses, and touches nothing but the streams."""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from cmbuild.hardware import frames
from cmbuild.hardware.conversation import Conversation, Restarted
from cmbuild.hardware.messages import Malformed, Message, MessageKind
from cmbuild.hardware.port import PortLost
from cmbuild.hardware.streams import Streams
from cmbuild.hardware.transcript import Transcript

NAMES = st.sampled_from([b"input0", b"output0", b"trace", b"request", b"../secret", b"\xff", b""])
BODIES = st.one_of(
    st.binary(max_size=30),
    st.builds(lambda range, name: range + name, st.binary(min_size=6, max_size=6), NAMES),
    st.builds(lambda name, data: bytes([len(name)]) + name + data, NAMES, st.binary(max_size=9)),
)
MESSAGES = st.builds(
    lambda kind, number, body: Message(kind, number, body).pack(),
    st.sampled_from(MessageKind),
    st.integers(0, 3),
    BODIES,
)
SPEECH = st.lists(st.one_of(MESSAGES, st.binary(max_size=12)).map(frames.encode), max_size=12)


class Recording:
    """A port that plays what a board said, and then is gone."""

    name, baud = "port", 115200

    def __init__(self, speech: list[bytes]) -> None:
        self._speech = list(speech)
        self.answers = frames.Decoder()
        self.count = 0

    def read(self) -> bytes:
        if not self._speech:
            raise PortLost(port=self.name, reason="the end")
        return self._speech.pop(0)

    def write(self, data: bytes) -> None:
        self.count += sum(1 for _ in self.answers.feed(data))


@given(SPEECH)
def test_any_speech_has_a_proper_end(speech: list[bytes]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "streams"
        folder.mkdir()
        (folder / "input0").write_bytes(bytes(100))
        (Path(place) / "secret").write_bytes(b"secret")
        port = Recording(speech)
        log = io.StringIO()
        talk = Conversation(port, log, Path("log"), lambda: False)  # type: ignore[arg-type]
        try:
            status = talk.serve(Message(MessageKind.GREETING, 0), Streams(folder), timeout=60)
        except (PortLost, Restarted):
            status = 0
        assert 0 <= status <= 255
        assert port.answers.broken == 0
        assert port.count >= 1
        assert (Path(place) / "secret").read_bytes() == b"secret"
        assert {path.name for path in folder.iterdir()} <= {"input0", "output0", "trace"}
        assert (folder / "input0").read_bytes() == bytes(100)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_not(data: bytes) -> None:
    try:
        message = Message.unpack(data)
    except Malformed:
        return
    assert message.pack() == data


@given(st.lists(st.one_of(SPEECH.map(b"".join), st.binary(max_size=50)), max_size=5))
def test_any_bytes_can_be_shown(pieces: list[bytes]) -> None:
    transcript = Transcript()
    for piece in pieces:
        for line in transcript.feed(piece):
            assert "\0" not in line


def test_text_and_messages_are_told_apart() -> None:
    data = (
        b"boot\r\n" + frames.encode(Message(MessageKind.GREETING, 0, b"cmrt runner\n").pack()) * 2
    )
    data += frames.encode(Message(MessageKind.PRINT, 1, b"cmrt end 0\n").pack()) + b"plain\n"
    transcript = Transcript()
    listed = [line for byte in data for line in transcript.feed(bytes([byte]))]
    assert listed == ["boot", "-- greeting: cmrt runner", "cmrt end 0", "plain"]
