"""Which board of a rack: `labgrid:PLACE` or `labgrid:KEY=VALUE,…`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cmbuild.errors import UsageError

PREFIX = "labgrid:"

_NAME = re.compile(r"[^\s=,]+")
_KEY = re.compile(r"[a-z][a-z0-9_]+")  # labgrid's own rule


class BadAddress(UsageError):
    template = "{text!r} does not name a place: {problem}"
    hint = "labgrid:PLACE, or labgrid:KEY=VALUE[,KEY=VALUE…] for any place with these tags"


@dataclass(frozen=True, slots=True)
class RackAddress:
    """A place by its name or alias; or, if that is None, any place that has all of the tags."""

    place: str | None
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> RackAddress:
        """Raises BadAddress."""
        rest = text.removeprefix(PREFIX)
        if "=" not in rest:
            if not _NAME.fullmatch(rest):
                raise BadAddress(text=text, problem="a place's name has no blanks and commas")
            return cls(rest)
        tags: dict[str, str] = {}
        for part in rest.split(","):
            key, _, value = part.partition("=")
            if not _KEY.fullmatch(key):
                problem = f"{key!r} is not the key of a tag"
                raise BadAddress(text=text, problem=problem)
            if not _NAME.fullmatch(value):
                raise BadAddress(text=text, problem=f"the value of {key} is missing, or has blanks")
            if key in tags:
                raise BadAddress(text=text, problem=f"{key} is given twice")
            tags[key] = value
        return cls(None, tuple(tags.items()))

    def __str__(self) -> str:
        return PREFIX + (self.place or self._conditions)

    @property
    def title(self) -> str:
        """For people: `pico-1`, `a place with board=rp2350`."""
        return self.place or f"a place with {self._conditions}"

    @property
    def _conditions(self) -> str:
        return ",".join(f"{key}={value}" for key, value in self.tags)

    def fits(self, name: str, tags: Mapping[str, str]) -> bool:
        """Whether a place has all of the tags; its name counts as one, as in labgrid."""
        return {**tags, "name": name}.items() >= dict(self.tags).items()
