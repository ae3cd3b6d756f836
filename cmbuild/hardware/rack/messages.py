"""Messages of the process that holds a place, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum


class TroubleKind(Enum):
    """Why no place is held."""

    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"
    UNTAGGED = "untagged"
    HELD = "held"
    NO_SERIAL = "no serial"
    SEVERAL_SERIAL = "several serial"
    NONE_LEFT = "none left"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class HeldPlace:
    """A place that is held.

    Attributes:
        port: its serial line, as a URL of pyserial.
        speed: bits a second of that line.
        host: the computer that exports it.
        tags: of the place.
    """

    name: str
    port: str
    speed: int
    host: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """There are such places; none is held yet."""

    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Queued:
    """All such places are in use."""

    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A place that cannot be used."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """No place is held.

    Attributes:
        coordinator: its address.
        name: of the place.
        detail: who holds it, or what is wrong with it.
        known: names to choose from.
    """

    kind: TroubleKind
    coordinator: str
    name: str = ""
    detail: str = ""
    known: Sequence[str] = ()


Report = HeldPlace | Found | Queued | LeftOut | Trouble

_REPORTS = {each.__name__: each for each in (HeldPlace, Found, Queued, LeftOut, Trouble)}


def pack(report: Report) -> str:
    fields = asdict(report)
    if isinstance(report, Trouble):
        fields["kind"] = report.kind.value
    return json.dumps({"report": type(report).__name__, **fields})


def unpack(line: str) -> Report:
    """Raises ValueError."""
    try:
        fields = json.loads(line)
        report = _REPORTS[fields.pop("report")]
        if report is Trouble:
            fields["kind"] = TroubleKind(fields["kind"])
        made: Report = report(**fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a report: {line!r}") from error
    return made
