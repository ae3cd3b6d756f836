"""What comes over a serial line, shown as it comes."""

from __future__ import annotations

from cmbuild.hardware.transcript import Transcript


def test_text_and_frames_take_turns() -> None:
    shown = list(Transcript().feed(b"hello\r\nwor\x1bld\n\0nothing known\0last"))
    assert shown[:2] == ["hello", "wor?ld"]


def test_noise_without_an_end_is_shown_and_let_go() -> None:
    """A line without a newline, and a frame without its zero byte."""
    transcript = Transcript()
    for start in (b"", b"\0"):
        lines = list(transcript.feed(start))
        for _ in range(64):
            lines += transcript.feed(b"x" * (1 << 16))
        assert sum(map(len, lines)) >= 63 << 16
