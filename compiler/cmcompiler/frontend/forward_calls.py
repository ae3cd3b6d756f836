"""Watches forward() for what no program can do: chance, clocks, derivatives. Imports torch."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.copies import copied, tensors_of
from cmcompiler.frontend.failed_calls import place_of_forward
from cmcompiler.usercode import is_library, shown

_CHANCE = {"random", "_random", "time", "datetime"}
"""Modules whose functions, and whose classes' methods, give another result in each call."""
_CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "now", "today", "utcnow"}
_CLOCKS |= {f"{name}_ns" for name in _CLOCKS}
_DERIVATIVES = {
    "autograd/__init__.py": {"grad", "backward"},
    "autograd/functional.py": {"jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"},
    "_functorch/eager_transforms.py": {
        *("grad_impl", "grad_and_value_impl", "_vjp_with_argnums", "_jvp_with_argnums"),
        *("linearize", "jacfwd", "jacrev"),
    },
}
"""Functions of torch that differentiate, by the ends of their files."""
_TRIES = 8
"""Calls in which what chance decides differs at least once, but for one time in 256."""
_NEAR = 1e-4
_CALLS = 3
"""Calls one after the other, from the first to one that shows what the others left."""

_STATE = "what lasts from run to run is a buffer: self.register_buffer"


class CallWatch:
    """Notes calls that lines of the user's make while it is active.

    Attributes:
        derivative: the line of the first one that differentiates: `net.py:12`; empty if none.
        chance: the line and the function of the first one whose result no input decides.
    """

    def __init__(self) -> None:
        self.derivative = ""
        self.chance = ("", "")
        self._before: Any = None

    def __enter__(self) -> CallWatch:
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            if not self.chance[0] and (name := _chance(called)):
                line = _user_line(frame)
                self.chance = (line, name) if line else self.chance
        elif event == "call":
            code = frame.f_code
            if not self.chance[0] and code.co_filename == random.__file__:
                line = _user_line(frame.f_back)
                self.chance = (line, f"random.{code.co_name}()") if line else self.chance
            elif not self.derivative and _is_derivative(code.co_filename, code.co_name):
                self.derivative = _user_line(frame.f_back, through=True)


def refuse_derivatives(watch: CallWatch) -> None:
    """
    Raises:
        Unsupported: a line of the user's differentiates.
    """
    if watch.derivative:
        raise Unsupported(
            f"{watch.derivative}: derivatives cannot be part of a program",
            "write the derivative's formula",
        )


def refuse_chance(watch: CallWatch, call: Callable[[], object], first: object) -> None:
    """
    Args:
        call: what a new copy of the module returns for the inputs of the watched call.
        first: what that returned.

    Raises:
        Unsupported: results depend on chance or the time.
    """
    line, function = watch.chance
    if line and not all(_same(call(), first) for _ in range(_TRIES)):
        raise Unsupported(
            f"{line}: {function} gives another number in each run",
            "give the number to the model as another input",
        )


class StateWatch:
    """Finds what a module's results depend on from call to call, other than buffers."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._buffers = [
            (part, name, buffer, buffer.detach().clone())
            for part in module.modules()
            for name, buffer in part._buffers.items()
            if buffer is not None
        ]
        self._held = _attributes(module)
        self._values = {name: _content(value) for name, value in self._held.items()}

    def restore(self) -> None:
        """Gives the buffers the values that they had."""
        for part, name, buffer, values in self._buffers:
            part._buffers[name] = buffer.copy_(values)

    def states(
        self,
        first: object,
        second: object,
        again: Callable[[], object],
        elsewhere: Callable[[], tuple[object, object]],
    ) -> tuple[str, ...]:
        """Names of tensors, as of parameters, that forward() assigns and that decide its results.

        Args:
            first, second: what the module returned, in the second call with the buffers restored.
            again: calls the module once more.
            elsewhere: what a new copy and the module, its buffers restored, return for inputs that
                the module has not seen.

        Raises:
            Unsupported: the results differ for another reason.
        """
        after, at = _attributes(self._module), place_of_forward(self._module)
        changed = [
            name for name, value in self._values.items() if _content(after.get(name)) != value
        ]
        holding = [name for name in changed if any(True for _ in tensors_of(after.get(name)))]
        numbers = {name: self._held[name] for name in changed if _is_number(self._held[name])}
        decides = (
            not _same(first, second)
            or (holding and self._remembers(elsewhere))
            or (numbers and self._counts(numbers, again))
        )
        if not decides:
            return ()
        states = [name for name in changed if _is_like(self._held[name], after.get(name))]
        if states:
            return tuple(states)
        for name in changed:
            raise Unsupported(
                f"{at}: forward() changes self.{name}, and its results with it", _STATE
            )
        raise Unsupported(
            f"{at}: forward() gives other results for the same inputs",
            f"random numbers are inputs; {_STATE}",
        )

    def _remembers(self, elsewhere: Callable[[], tuple[object, object]]) -> bool:
        """Whether calls with other inputs decide a result, where the module takes others at all."""
        try:
            self.restore()
            new, used = elsewhere()
        except Exception:
            return False
        return not _same(new, used)

    def _counts(self, numbers: Mapping[str, object], again: Callable[[], object]) -> bool:
        """Whether numbers that earlier calls changed decide a result."""
        results = []
        for is_reset in (False, True):
            self.restore()
            self._assign(numbers)
            for _ in range(_CALLS):
                try:
                    result = again()
                except Exception:  # as the first did not
                    return True
                if is_reset:
                    self._assign(numbers)
            results.append(result)
        return not _same(*results)

    def _assign(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            path, _, own = name.rpartition(".")
            setattr(self._module.get_submodule(path), own, value)


def with_buffers(module: torch.nn.Module, names: Iterable[str]) -> torch.nn.Module:
    """A copy that holds tensors of these names as buffers."""
    copy = copied(module)
    for name in names:
        path, _, own = name.rpartition(".")
        part = copy.get_submodule(path)
        value = getattr(part, own).detach().clone()
        delattr(part, own)
        part.register_buffer(own, value)
    return copy


def _attributes(module: torch.nn.Module) -> dict[str, object]:
    """Attributes of a module and its parts, without parameters and buffers, by name."""
    own = vars(torch.nn.Module())
    return {
        ".".join(filter(None, (path, name))): value
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in own
    }


def _content(value: object) -> object:
    """A value that changes with an attribute or an item of it."""
    if isinstance(value, Tensor):
        return id(value), 0 if value.is_inference() else value._version
    if isinstance(value, (list, tuple)):
        return [*map(_content, value)]
    if isinstance(value, dict):
        return {key: _content(each) for key, each in value.items()}
    return value if isinstance(value, (bool, int, float, str)) else value is None


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float))


def _is_like(before: object, after: object) -> bool:
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return False
    return before.shape == after.shape and before.dtype == after.dtype


def _chance(called: Any) -> str:
    """The name of a built-in function whose result no argument decides."""
    name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
    if name == "urandom":
        return "os.urandom()"
    kind = owner if isinstance(owner, type) else type(owner)
    module = getattr(called, "__module__", None) or kind.__module__
    if module not in _CHANCE:
        return ""
    module = module.lstrip("_")
    return f"{module}.{name}()" if module == "random" or name in _CLOCKS else ""


def _user_line(frame: FrameType | None, *, through: bool = False) -> str:
    """The line of the user's that called.

    Args:
        through: also if a library did on its behalf; else that has no line.
    """
    while frame is not None and (through or "site-packages" not in frame.f_code.co_filename):
        if not is_library(frame.f_code.co_filename):
            return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _is_derivative(file: str, name: str) -> bool:
    return any(
        name in names and file.endswith(f"torch/{end}") for end, names in _DERIVATIVES.items()
    )


def _same(one: object, other: object) -> bool:
    """Whether the dense tensors of two results are equal; others are not compared."""
    tensors, others = (
        [x for x in tensors_of(each) if x.layout is torch.strided and not x.is_nested]
        for each in (one, other)
    )
    if [x.shape for x in tensors] != [x.shape for x in others]:
        return False
    return all(
        torch.allclose(x, y, _NEAR, _NEAR, equal_nan=True)
        for x, y in zip(tensors, others, strict=True)
        if x.dtype == y.dtype
    )
