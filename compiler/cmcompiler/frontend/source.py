"""Finds models: by name in the zoo, in a Python file, in a torch.export archive."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cmcompiler import zoo
from cmcompiler.arrays import check_unpacked
from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.model import Model, ModelSource
from cmcompiler.frontend.module_lines import ModuleLines
from cmcompiler.frontend.user_model import UserModel
from cmcompiler.frontend.weights import Origin, Weights, assign, is_random
from cmcompiler.importer.suffixes import PROGRAMS
from cmcompiler.suggest import likeness
from cmcompiler.usercode import blaming

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_PYTHON_FILE = re.compile(r"(?P<path>.+\.py)(:(?P<name>\w+))?")


def find_source(text: str) -> ModelSource:
    """The source of a model named `mv2`, `path.py`, `path.py:callable` or `path.pt2`.

    Raises:
        InvalidRequest: unknown name or missing file.
    """
    if match := _PYTHON_FILE.fullmatch(text):
        return PythonFile(_existing(match["path"]), match["name"] or "model")
    if text.endswith(".pt2"):
        return ExportedArchive(_existing(text))
    if text.endswith((*PROGRAMS, ".pth", ".pt")):
        raise InvalidRequest(
            f"{text} cannot be exported: it is not a module",
            "give a model of the zoo, path.py[:callable] or path.pt2",
        )
    return zoo.get(text)


def check_source(text: str) -> None:
    """Finds what is wrong with a source without running it; raises as find_source and
    PythonFile.check.
    """
    source = find_source(text)
    if isinstance(source, PythonFile):
        source.check()


def _existing(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise InvalidRequest(f"no such file: {path}")
    return path


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A callable in a Python file that makes a model.

    The callable takes no arguments and returns a tuple (module, example_inputs[, calibration]) or
    an object with attributes of these names; a module with an attribute example_inputs also works.
    Instead of a callable, the name may refer to such a tuple or object. example_inputs is a tensor
    or a tuple of tensors, calibration an iterable of such. An object may also have `samples`, like
    calibration, and `labels`, the class of each sample.

    Attributes:
        name: of the callable.
    """

    path: Path
    name: str = "model"

    @property
    def files(self) -> tuple[Path, ...]:
        """The file and the modules beside it that it imports, directly or not."""
        return _imported_beside(self.path)

    @property
    def expects_weights(self) -> Path | None:
        return None

    @property
    def definition(self) -> tuple[str, int] | None:
        try:
            tree = ast.parse(self.path.read_bytes())
        except (OSError, SyntaxError):
            return None
        for node in tree.body:
            names = [getattr(node, "name", None), *map(_name, getattr(node, "targets", []))]
            if self.name in names:
                return str(self.path.resolve()), node.lineno
        return None

    def load(self, seed: int, weights: Path | None = None) -> Model:
        """See ModelSource.

        Raises:
            InvalidRequest: also for errors raised by the file's own code.
        """
        import torch

        with torch.random.fork_rng(devices=[]), blaming(self.path), self._neighbours():
            torch.manual_seed(seed)
            default = torch.get_default_dtype()
            lines = ModuleLines()
            try:
                with lines.watching(), _uncompiled():
                    made = self._make()
            finally:
                torch.set_default_dtype(default)
            user = UserModel.of(made, f"{self.path}:{self.name}", lines)
        return user.model(_weigh(user, weights, f"from {self.path.name}"), seed)

    def _make(self) -> Any:
        import torch

        module = self._module()
        model = getattr(module, self.name, None)
        if model is None:
            raise self._undefined(
                [name for name, value in vars(module).items() if _is_own(value, module)]
            )
        ready = isinstance(model, torch.nn.Module) or not callable(model)
        return model if ready else model()

    def check(self) -> None:
        """Finds what is wrong without running the file, before torch is imported for it.

        Raises:
            InvalidRequest: its syntax, or a callable that nothing in it can define.
        """
        with blaming(self.path):
            # As Python decodes it: by its first lines.
            tree = ast.parse(self.path.read_bytes(), self.path)
        defined = set(_defined(tree.body))
        if self.name in defined or defined & _DYNAMIC:
            return
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        raise self._undefined([each.name for each in functions if not _parameters(each)])

    def _undefined(self, own: list[str]) -> InvalidRequest:
        """The error for a name that the file does not have, with those that it has."""
        defined = f"; it defines {', '.join(own)}" if own else ""
        name = max(own, key=lambda other: likeness(self.name, other), default="callable")
        return InvalidRequest(
            f"{self.path} does not define {self.name}{defined}",
            f"name the callable: {self.path}:{name}",
        )

    def _module(self) -> ModuleType:
        # A unique name, so that a file named like a package does not replace it.
        spec = importlib.util.spec_from_file_location(f"_model_{self.path.stem}", self.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    @contextmanager
    def _neighbours(self) -> Iterator[None]:
        """Lets the file import modules beside it without clashing with those of the next file.

        They are searched last: a module named like an installed one must not replace it.
        """
        folder = str(self.path.parent.resolve())
        before = set(sys.modules)
        sys.path.append(folder)
        try:
            yield
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder + os.sep):
                    del sys.modules[name]


@dataclass(frozen=True, slots=True)
class ExportedArchive:
    """A `.pt2` file of torch.export.save. Dynamic sizes become those of its example inputs."""

    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def expects_weights(self) -> Path | None:
        return None

    @property
    def definition(self) -> tuple[str, int] | None:
        return None

    def load(self, seed: int, weights: Path | None = None) -> Model:
        import torch

        from cmcompiler.frontend.graph_names import without_own_names

        check_unpacked(self.path)
        try:
            program = torch.export.load(self.path)
        except Exception as error:  # a damaged archive raises anything
            reason = str(error).strip().partition("\n")[0]
            raise InvalidRequest(f"{self.path} is not a torch.export archive: {reason}") from error
        if program.example_inputs is None:
            raise InvalidRequest(
                f"{self.path} does not contain example inputs", "export it with them"
            )
        positional, named = program.example_inputs
        if named:
            raise Unsupported(f"{self.path} takes arguments by name: {', '.join(named)}")
        module = without_own_names(program).module(check_guards=False)
        user = UserModel.of((module, tuple(positional)), str(self.path))
        model = user.model(_weigh(user, weights, f"those in {self.path.name}"), seed)
        return replace(model, notes=(*model.notes, *_fixed(program)))


def _fixed(program: ExportedProgram) -> Iterator[str]:
    """A note for each input with sizes that were dynamic, and are those of the example now."""
    import torch

    user_inputs = set(program.graph_signature.user_inputs)
    nodes = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in user_inputs]
    examples = program.example_inputs[0] if program.example_inputs else ()
    for node, example in zip(nodes, examples, strict=False):
        sizes = getattr(node.meta.get("val"), "shape", ())
        dynamic = [i for i, size in enumerate(sizes) if isinstance(size, torch.SymInt)]
        if dynamic:
            fixed = ", ".join(f"dimension {i} is {example.shape[i]}" for i in dynamic)
            yield f"input {node.name} had dynamic sizes, now those of the example: {fixed}"


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Leaves functions as they are that a file gives to torch.compile, as a decorator or not: an
    export reads what is written, and nothing here needs a C++ compiler.
    """
    import torch

    def left(function: Any = None, **_: Any) -> Any:
        return left if function is None else function

    torch.compile, compile = left, torch.compile  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.compile = compile


def _weigh(user: UserModel, file: Path | None, detail: str) -> Weights:
    if file is None:
        return Weights(Origin.GIVEN, detail)
    if is_random(file):
        raise InvalidRequest("--weights random is for models of the zoo")
    assign(user.module, file)
    return Weights(Origin.FILE, file.name)


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a file defines a function that could make a model, or has one ready."""
    import torch

    if isinstance(value, torch.nn.Module):
        return True
    is_function = inspect.isfunction(value) and not inspect.signature(value).parameters
    return is_function and value.__module__ == module.__name__


_DYNAMIC = {"*", "globals", "exec", "setattr", "__getattr__"}
"""Names with which a file can define others that do not stand in it."""


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Names that a module may define, and whatever names it uses to define others."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
            elif isinstance(node, ast.Name) and (
                isinstance(node.ctx, ast.Store) or node.id in _DYNAMIC
            ):
                yield node.id


def _parameters(function: ast.FunctionDef) -> bool:
    """Whether a function takes any parameters."""
    given = function.args
    return bool(given.posonlyargs or given.args or given.vararg or given.kwonlyargs or given.kwarg)


def _name(target: ast.AST) -> str | None:
    """The name that an assignment assigns to, if it is a single one."""
    return getattr(target, "id", None)


def _imported_beside(path: Path) -> tuple[Path, ...]:
    """A Python file and the files in its folder that it imports, directly or not."""
    files = [path]
    for file in files:
        for imported in _imports(file, path.parent):
            if imported not in files and imported.is_file():
                files.append(imported)
    return tuple(files)


def _imports(file: Path, root: Path) -> Iterator[Path]:
    """Possible files, beside it or below root, of the modules that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError):
        return
    for node in ast.walk(tree):
        folder, names = root, list[str]()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if node.level else root
            names = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names]
        for parts in (name.split(".") for name in names):
            for length in range(1, len(parts) + 1):
                module = folder.joinpath(*parts[:length])
                yield from (module.with_name(f"{module.name}.py"), module / "__init__.py")
