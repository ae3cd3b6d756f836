"""The lines of a user's file that make the modules of a model. Importing it does not import torch.

Operators of a torch.nn.Sequential run no line of the user's: the line that makes its part is what
there is to show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from cmcompiler.usercode import is_library, shown

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class ModuleLines:
    """Lines by module, `net.py:12`, of those that were made while this watched."""

    _lines: WeakKeyDictionary[torch.nn.Module, str] = field(default_factory=WeakKeyDictionary)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Notes the line of each module that is made meanwhile."""
        import torch

        original = torch.nn.Module.__init__

        def noted(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            if (line := _line_that_makes(module)) is not None:
                self._lines[module] = line

        torch.nn.Module.__init__ = noted  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            torch.nn.Module.__init__ = original  # type: ignore[method-assign]

    def of(self, module: torch.nn.Module) -> dict[str, str]:
        """The lines of the parts of a module, by path; copies of modules have none."""
        return {
            path: self._lines[part] for path, part in module.named_modules() if part in self._lines
        }


def _line_that_makes(module: torch.nn.Module) -> str | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        is_own = frame.f_locals.get("self") is module  # its own constructor
        if not is_own and not is_library(frame.f_code.co_filename):
            return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None
