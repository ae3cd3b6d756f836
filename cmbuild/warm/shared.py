"""One process of a user that has imported torch, for the exports of all commands."""

from __future__ import annotations

from cmbuild.process import python_module
from cmbuild.warm.place import WarmPlace, shared_place

_CLIENT = "cmbuild.warm.client"


class SharedExports:
    """Exports by that process; without it by a new one, which starts it for those that follow."""

    def __init__(self, place: WarmPlace) -> None:
        self._place = place

    def command(self) -> list[str]:
        """The command that does what `python -m cmcompiler` would, given its arguments after it."""
        return [*python_module(_CLIENT), str(self._place.socket), self._place.key]


def shared_exports() -> SharedExports | None:
    """None where nobody wants them, or where the place for them is not private."""
    place = shared_place()
    return None if place is None else SharedExports(place)
