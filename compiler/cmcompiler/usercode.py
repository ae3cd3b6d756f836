"""Runs users' Python code; errors in it, and in libraries that run it, become one line."""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import cmcompiler
from cmcompiler.errors import CompilerError, InvalidRequest, Unsupported

_LOCK = threading.Lock()

# A frame in tracebacks that libraries quote in their messages.
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
# The pass that torch's PassManager names in its error.
_PASS = re.compile(r"when running the '(?P<name>\w+)' pass")
# As module_place writes it.
_MODULE = re.compile(r"(the module|module (?P<path>[\w.]+)): ")
ITSELF = "the compiler"
"""Names the compiler in messages, for errors that are not a library's."""
_DEVICES = (
    *("Found no NVIDIA driver", "Torch not compiled with CUDA enabled", "No CUDA GPUs"),
    *("re-initialize CUDA", "not linked with support for", "torch.cuda.is_available() is False"),
    *("Expected all tensors to be on the same device", "No HIP GPUs", "XPU device"),
)
"""Parts of torch's messages about devices."""
_LONGEST = 240
"""Characters of another library's message that are shown."""
_OWN = Path(cmcompiler.__file__).resolve().parent
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_INSTALLED = {"site-packages", "dist-packages"}


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
        if (device := device_reason(error)) is not None:
            raise InvalidRequest(f"{place or root}: {device[0]}", device[1]) from error
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


@contextmanager
def unsupported(what: str, hint: str | None = None) -> Iterator[None]:
    """Turns any error a library raises about a model into a one-line Unsupported, with file and
    line of the user's code where the library knows them.

    A CompilerError that the library wrapped in its own error is unwrapped; other wrapped errors
    give the reason.

    Args:
        what: names the library in the message.
    """
    try:
        yield
    except (CompilerError, ImportError):
        raise
    except Exception as error:
        chain = list(_causes(error))
        ours = next((cause for cause in chain if isinstance(cause, CompilerError)), None)
        if ours is not None:
            raise ours from None
        place = place_of(error)
        root = chain[-1]
        reason = reason_of(root)
        at = f"{place}: " if place else ""
        failed = next(filter(None, (_PASS.search(str(cause)) for cause in chain)), None)
        within = f" in {failed['name']}" if failed and root is not error else ""
        raise Unsupported(
            f"{at}{what} cannot take this model: {type(root).__name__}{within}: {reason}",
            None if place else hint,
        ) from error


def device_reason(error: BaseException) -> tuple[str, str] | None:
    """The message of an error about a device that this computer lacks, and a hint."""
    if not any(part in str(error) for part in _DEVICES):
        return None
    return (
        "the model asks for a device that this computer does not have",
        "stay on the device of the inputs, x.device, and load weights with map_location='cpu'",
    )


def reason_of(error: BaseException) -> str:
    """The first line of an error's message, or what fits of it."""
    reason = str(error).strip().partition("\n")[0].rstrip(".") or "no reason given"
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST].rstrip()} …"


def place_of(error: BaseException) -> str | None:
    """The user's line that an error is about, `net.py:12`, else the module: `module blocks.0`.

    That is a line that was running, or one that a library quotes, or the one of the operator that
    it was working on.
    """
    chain = list(reversed(list(_causes(error))))
    line = next(filter(None, map(user_line, chain)), None)
    return line or next(filter(None, map(_place_of_node, chain)), None)


def _place_of_node(error: BaseException) -> str | None:
    """Where the innermost node of a graph comes from that a function on the stack has at hand."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            if type(value).__module__ == "torch.fx.node" and (place := _origin(value)):
                return place
    return None


def place_of_node(node: Any) -> str:
    """The user's line that a node of a graph comes from, else the module, to begin a message with:
    `net.py:12: `; empty if neither is known.
    """
    place = _origin(node)
    return f"{place}: " if place else ""


def _origin(node: Any) -> str | None:
    meta = getattr(node, "meta", None)
    if not isinstance(meta, dict):
        return None
    for match in reversed([*_FRAME.finditer(meta.get("stack_trace") or "")]):
        if not is_library(match["file"]):
            return f"{shown(match['file'])}:{match['line']}"
    modules = [path for path, _ in (meta.get("nn_module_stack") or {}).values()]
    return module_place(modules[-1]) if modules and modules[-1] else None


def module_place(path: str) -> str:
    """How messages name a module where no line of the user's is known: see with_line."""
    return f"module {path}" if path else "the module"


@contextmanager
def located(lines: Mapping[str, str]) -> Iterator[None]:
    """Begins errors about modules with the lines that make these: see with_line."""
    try:
        yield
    except CompilerError as error:
        error.message = with_line(error.message, lines)
        error.args = (error.message,)
        raise


def with_line(message: str, lines: Mapping[str, str]) -> str:
    """A message about a module, with the line that makes it.

    Args:
        lines: of modules, `net.py:12`, by path; a part that is not among them has that of the
            module around it.
    """
    match = _MODULE.match(message)
    if match is None:
        return message
    path = match["path"] or ""
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return f"{lines[path]}: {message}" if path in lines else message


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def user_line(error: BaseException) -> str | None:
    """The innermost line outside of libraries, from the traceback or a quoted one: `net.py:12`."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    text = "\n".join((str(error), *getattr(error, "__notes__", ())))
    frames += [(match["file"], int(match["line"])) for match in _FRAME.finditer(text)]
    for name, line in reversed(frames):
        if not is_library(name):
            return f"{shown(name)}:{line}"
    return None


def is_library(file: str) -> bool:
    """Whether a file of a traceback belongs to Python, to an installed package, or to no one."""
    path = Path(file)
    if not path.is_file() or not _INSTALLED.isdisjoint(path.parts):
        return True
    return any(path.resolve().is_relative_to(folder) for folder in (_OWN, _STANDARD))


def shown(file: str) -> str:
    """A file as people would write it: relative, if it is below the current folder."""
    whole, here = Path(file).resolve(), Path.cwd()
    return os.fspath(whole.relative_to(here) if whole.is_relative_to(here) else whole)


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
