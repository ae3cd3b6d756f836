"""Where the operators of a program come from in the user's source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from cmcompiler.usercode import is_library, shown

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Graph, Node

_KEY = "cmbuild_node"
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_INSTRUCTION = re.compile(r"#(\d+)\b")
_LIBRARIES = ("torch", "torchao", "executorch")
_is_library = cache(is_library)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the user's source.

    Attributes:
        operator: of the exported graph: `conv1d`.
        module: path of the module that makes the call: `blocks.0.conv`; empty for the whole.
        file, line: of the user's source, else of a library other than torch; None where there is
            neither, as in a torch.nn.Sequential.
    """

    operator: str
    module: str
    file: str | None
    line: int | None


def mark(graph: Graph) -> dict[str, CallSite]:
    """Makes nodes remember their names through all that follows; call sites by these names."""
    sites = {}
    libraries = _libraries()
    for node in graph.nodes:
        if node.op == "call_function":
            node.meta["custom"] = {**node.meta.get("custom", {}), _KEY: node.name}
            sites[node.name] = _call_site(node, libraries)
    return sites


def mark_again(nodes: Iterable[Node], sites: dict[str, CallSite]) -> None:
    """Makes nodes that took the place of marked ones remember names of their own, same lines.

    Graphs name their nodes anew as they are copied, so that a node may bear another's mark as name.

    Args:
        sites: by all names; gains those of the nodes.
    """
    for node in nodes:
        name = marked(node)
        if name in sites and name != node.name:
            own = next(each for each in _names(node.name) if each not in sites)
            node.meta["custom"] = {**node.meta["custom"], _KEY: own}
            sites[own] = replace(sites[name], operator=_operator(node))


def _names(first: str) -> Iterator[str]:
    yield first
    yield from (f"{first}_{number}" for number in count(2))


def marked(node: Node) -> str | None:
    """The name that `mark` gave."""
    name = node.meta.get("custom", {}).get(_KEY)
    return None if name is None else str(name)


def with_lines(message: str, instructions: Mapping[int, str], sites: Mapping[str, CallSite]) -> str:
    """A message with the lines of the user's source that its instructions, `#3`, come from.

    Args:
        instructions: names of nodes: see Lowered.
        sites: of nodes, by name.
    """
    numbers = dict.fromkeys(map(int, _INSTRUCTION.findall(message)))
    nodes = [instructions[number] for number in numbers if number in instructions]
    known = [sites[node] for node in nodes if node in sites]
    lines = {f"{shown(site.file)}:{site.line}": None for site in known if site.file}
    return f"{', '.join(lines)}: {message}" if lines else message


def instruction_nodes(program: ExportedProgram) -> dict[int, str]:
    """Names given by `mark` by the index of the instruction that they became.

    Args:
        program: as emitted, whose nodes have the index as their debug handle.
    """
    names: dict[int, str] = {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            name = marked(node)
            handle = node.meta.get("debug_handle")
            # Memory is planned by out variants only; other nodes have the handles of older graphs.
            if _is_emitted(node) and isinstance(handle, int) and name is not None:
                names[handle] = name
    return names


def _is_emitted(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        argument.is_out and argument.name in node.kwargs for argument in schema.arguments
    )


def _call_site(node: Node, libraries: tuple[Path, ...]) -> CallSite:
    frames = [
        (frame["file"], int(frame["line"]))
        for frame in _FRAME.finditer(node.meta.get("stack_trace") or "")
        if not frame["file"].startswith("<")  # of code that torch generates
        and not any(Path(frame["file"]).is_relative_to(folder) for folder in libraries)
    ]
    own = [frame for frame in frames if not _is_library(frame[0])]
    file, line = next(reversed(own or frames), (None, None))
    stack: Mapping[str, tuple[str, object]] = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    return CallSite(_operator(node), paths[-1] if paths else "", file, line)


def _operator(node: Node) -> str:
    name = str(node.target) if not callable(node.target) else getattr(node.target, "__name__", "")
    schema = getattr(node.target, "_schema", None)
    return name if schema is None else schema.name.partition("::")[2]


def _libraries() -> tuple[Path, ...]:
    specs = (find_spec(name) for name in _LIBRARIES)
    folders = (Path(spec.origin).parent for spec in specs if spec and spec.origin)
    return (*folders, Path(__file__).parent)
