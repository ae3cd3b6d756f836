"""Registry of operators: declarations and their readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from cmcompiler.decode.call import Call

Reader = Callable[[Call], None]


@dataclass(frozen=True, slots=True)
class Schema:
    """Name and parameters of an operator, from its declaration.

    Attributes:
        name: `cortex_m::pad.out`.
        parameters: (type, name) in order, keyword-only ones and outputs included.
        results: names of those that are only written.
        in_place: of one that is read and written, `self` of `aten::copy_`; else None.
        declared: the parameters as declared, without the parentheses around them.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    results: tuple[str, ...] = ()
    in_place: str | None = None
    declared: str = ""

    @property
    def functional(self) -> str:
        """The declaration for torch of the operator that returns its outputs: without a namespace,
        `sum(Tensor x) -> Tensor`.
        """
        inputs, _, _ = self.declared.partition(_OUTPUTS)
        return f"{self._stem}({inputs}) -> {_types(['Tensor'] * len(self.results))}"

    @property
    def with_outputs(self) -> str:
        """The schema of the operator that writes to tensors it is given."""
        _, _, outputs = self.declared.partition(_OUTPUTS)
        types = [output.partition(" ")[0] for output in outputs.split(", ")]
        overload = self.name.rpartition(".")[2]
        return f"{self._stem}.{overload}({self.declared}) -> {_types(types)}"

    @property
    def _stem(self) -> str:
        """The name without namespace and overload."""
        return self.name.partition("::")[2].partition(".")[0]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.parameters)

    @classmethod
    def parse(cls, declaration: str) -> Schema:
        """From `ns::op.overload(Tensor x, int[] pad, *, Tensor(a!) out) -> …`.

        Drops defaults and the alias marks of tensor types.
        """
        name, _, rest = declaration.partition("(")
        depth, current, parts = 0, "", []
        for character in rest:
            if character == ")" and depth == 0:
                break
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
            if character == "," and depth == 0:
                parts.append(current)
                current = ""
            else:
                current += character
        parts.append(current)
        parameters, results, in_place, is_keyword = [], [], None, False
        for part in (p.strip() for p in parts):
            is_keyword |= part == "*"
            if part in ("", "*"):
                continue
            kind, _, argument = part.split("=")[0].strip().rpartition(" ")
            if argument == "out" or ("!" in kind and is_keyword):
                results.append(argument)
            elif "!" in kind:
                in_place = argument
            kind = kind.replace("(a!)", "").replace("(b!)", "").replace("(c!)", "")
            parameters.append((kind.strip(), argument))
        text = ", ".join(part.strip() for part in parts)
        return cls(name.strip(), tuple(parameters), tuple(results), in_place, text)


_OUTPUTS = ", *, "


def _types(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """How one operator is read into nodes."""

    schema: Schema
    read: Reader


_REGISTRY: dict[str, ProgramOp] = {}


def operators() -> dict[str, ProgramOp]:
    """All operators by full name, `cortex_m::pad.out`."""
    # Importing the package fills the registry. import_module waits if another thread is importing
    # it; a module already in sys.modules does not mean that the others are.
    import_module("cmcompiler.ops")
    return _REGISTRY


def program_op(*declarations: str) -> Callable[[Reader], Reader]:
    """Registers a reader for operators, given as their declarations in operators.yaml's syntax."""

    def register(read: Reader) -> Reader:
        for declaration in declarations:
            schema = Schema.parse(declaration)
            if schema.name in _REGISTRY:
                raise ValueError(f"{schema.name} is registered twice")
            _REGISTRY[schema.name] = ProgramOp(schema, read)
        return read

    return register
