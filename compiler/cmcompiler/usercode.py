"""Imports users' Python files; errors in them become one line."""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from cmcompiler.errors import CompilerError, InvalidRequest

_LOCK = threading.Lock()


@contextmanager
def blaming(root: Path, *, always: bool = True) -> Iterator[None]:
    """Turns exceptions from user code into one line that names file and line.

    Args:
        root: a file, or a folder of files.
        always: also convert exceptions that no line below `root` raised; else those pass.

    Raises:
        InvalidRequest: file, line and reason.
    """
    try:
        yield
    except CompilerError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, root)
        if place is None and not always:
            raise
        reason = str(error).partition("\n")[0]
        raise InvalidRequest(f"{place or root}: {type(error).__name__}: {reason}") from error


def _place(error: BaseException, root: Path) -> str | None:
    """The innermost line of the user's code: `net.py:12`."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename is not None:
        frames.append((error.filename, error.lineno))
    whole = root.resolve()
    for name, line in reversed(frames):
        file = Path(name).resolve()
        if file == whole or whole in file.parents:
            return f"{root / file.relative_to(whole)}:{line}"
    return None


def import_folder(folder: Path, registry: dict[Any, Any]) -> None:
    """Imports every module of a folder, once; skips names that begin with an underscore.

    They form a package, so `from . import _shared` works.

    Args:
        registry: filled by the modules.

    Raises:
        InvalidRequest: names file and line. All imports and registrations are then undone.
    """
    place = str(folder.resolve())
    name = f"_folder_{hashlib.sha256(place.encode()).hexdigest()[:16]}"
    with _LOCK:
        if name in sys.modules:
            return
        package = ModuleType(name)
        package.__path__ = [place]
        sys.modules[name] = package
        before = set(registry)
        try:
            with blaming(folder):
                for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
                    if not module.startswith("_"):
                        importlib.import_module(f"{name}.{module}")
        except BaseException:
            for known in [key for key in sys.modules if f"{key}.".startswith(f"{name}.")]:
                del sys.modules[known]
            for key in registry.keys() - before:
                del registry[key]
            raise
