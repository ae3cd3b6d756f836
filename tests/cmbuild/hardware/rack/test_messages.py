"""Reports of the process that holds a place."""

from __future__ import annotations

import pytest

from cmbuild.hardware.rack.messages import (
    Found,
    HeldPlace,
    LeftOut,
    Queued,
    Report,
    Trouble,
    TroubleKind,
    pack,
    unpack,
)


@pytest.mark.parametrize(
    "report",
    [
        HeldPlace("pico-1", "socket://localhost:4000", 921600, "localhost", {"board": "rp2350"}),
        Found(["pico-1"]),
        Queued(["pico-1", "pico-2"]),
        LeftOut("pico-1", "line one\nline two"),
        Trouble(TroubleKind.HELD, "localhost:20408", "pico-1", "host/ada", ["pico-1"]),
    ],
)
def test_a_report_is_one_line_and_arrives_as_it_was(report: Report) -> None:
    line = pack(report)
    assert "\n" not in line
    assert unpack(line) == report


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '{"report": "Lost"}', '{"report": "Found"}', '{"report": "Trouble"}']
)
def test_what_is_no_report(line: str) -> None:
    with pytest.raises(ValueError, match="not a report"):
        unpack(line)
