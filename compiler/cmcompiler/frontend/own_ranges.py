"""Parts of groups of tensors that share a range, with a range of their own.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.precision import SHORT_ACTIVATIONS, Patterns
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import owner

Edge = tuple[Node, Node]
"""A node, and one that reads it."""


@dataclass(frozen=True, slots=True)
class GroupPart:
    """Some of the tensors that share a range in a prepared graph, cut off from the others.

    Attributes:
        source, user: what holds a tensor to the range, and the operator that reads it there: the
            only connection to the others.
        held: what holds the part's tensors to the range.
        own: the name of the observer of the part alone, which no node uses at first.
    """

    source: Node
    user: Node
    held: tuple[Node, ...]
    own: str

    @property
    def is_whole(self) -> bool:
        """Whether its nodes are still there."""
        graph = set(self.user.graph.nodes)
        return graph.issuperset((self.source, self.user, *self.held))


@dataclass(slots=True)
class RangeChange:
    """Changes of a prepared graph, which can be taken back."""

    _steps: list[Callable[[], None]] = field(default_factory=list)

    def undo(self) -> None:
        for step in reversed(self._steps):
            step()

    def give_own_range(self, part: GroupPart) -> None:
        """Holds a part's tensors to the range that its own observer found."""
        old, own = observer_of(part.held[0]), owner(part.user).get_submodule(part.own)
        for node in part.held:
            for derived in _derived(node):
                self._set(
                    derived, "obs_or_fqs", [own if x is old else x for x in derived.obs_or_fqs]
                )
            self._set(node, "target", part.own)

    def call(self, node: Node, target: Any, *arguments: Any) -> None:
        """Makes a node another operator of the same result."""
        self._set(node, "target", target)
        self._set(node, "args", arguments)

    def insert(self, user: Node, operand: Node, *made: Node) -> None:
        """Has a node read the last of new nodes in place of an operand."""

        def remove() -> None:
            user.replace_input_with(made[-1], operand)
            for node in reversed(made):
                node.graph.erase_node(node)

        self._steps.append(remove)
        user.replace_input_with(operand, made[-1])

    def _set(self, thing: Any, name: str, value: Any) -> None:
        before = getattr(thing, name)
        self._steps.append(lambda: setattr(thing, name, before))
        setattr(thing, name, value)


class GroupWatch:
    """Observes parts of groups on their own while a prepared graph runs on calibration inputs."""

    def __init__(self, prepared: GraphModule) -> None:
        self._prepared = prepared
        self._watchers: list[Node] = []

    def part(self, source: Node, user: Node, *, is_after: bool) -> GroupPart | None:
        """The part on one side of a connection; None if another connects it to the rest.

        Args:
            source, user: see GroupPart.
            is_after: the user's side.
        """
        group = observer_of(source)
        held = held_to(group, self._prepared)
        first = [node for node in held if node.args[0] is user] if is_after else [source]
        cluster = connected(first, held, {(source, user)})
        others = [source] if is_after else [node for node in held if node.args[0] is user]
        if not cluster or cluster & set(others):
            return None
        members = tuple(node for node in held if node in cluster)
        return GroupPart(source, user, members, self._watched(user, group, members))

    def alone(self, held: Node) -> str:
        """The name of an observer of one tensor by itself."""
        return self._watched(held, observer_of(held), [held])

    def _watched(self, user: Node, group: Any, held: Iterable[Node]) -> str:
        """The name of another observer like a group's, which sees some of its tensors."""
        name = f"{user.name}_own_range"
        while hasattr(self._prepared, name):
            name += "_"
        self._prepared.add_submodule(name, deepcopy(group))
        for node in held:
            self.call(name, node, node.args[0])
        return name

    def call(self, name: str, node: Node, value: Any) -> None:
        """Has a module see a value right after a node, until the watch ends."""
        with self._prepared.graph.inserting_after(node):
            self._watchers.append(self._prepared.graph.call_module(name, (value,)))

    def end(self) -> None:
        for node in self._watchers:
            self._prepared.graph.erase_node(node)
        self._watchers.clear()
        self._prepared.recompile()


def observer_of(node: Node) -> Any:
    return owner(node).get_submodule(str(node.target))


def held_to(group: Any, prepared: GraphModule) -> list[Node]:
    """The nodes that hold tensors to a range."""
    nodes = prepared.graph.nodes
    return [node for node in nodes if node.op == "call_module" and observer_of(node) is group]


def is_free(node: Node) -> bool:
    """Whether an operator is known to compute from any range to any other."""
    if node.target in QUANTIZED:
        return QUANTIZED[node.target].output is None
    return node.target in LAYERS


def connected(first: list[Node], held: list[Node], cuts: Collection[Edge]) -> set[Node]:
    """Nodes that hold tensors which must keep one range with the first if connections are cut."""
    neighbours: dict[Node, set[Node]] = {node: set() for node in held}
    by_result: dict[Any, Node] = {}
    for node in held:
        for other in (*_sources(node, cuts), by_result.setdefault(node.args[0], node)):
            if other in neighbours:
                neighbours[node].add(other)
                neighbours[other].add(node)
    reached, left = set(first), list(first)
    while left:
        more = neighbours[left.pop()] - reached
        reached |= more
        left += more
    return reached


def _sources(held: Node, cuts: Collection[Edge]) -> Iterator[Node]:
    """Nodes that hold the operands of an operator whose result shares their range."""
    left = [(each, held) for each in held.all_input_nodes]
    while left:
        node, user = left.pop()
        if node.op == "call_module":
            if (node, user) not in cuts:
                yield node
        elif not is_free(node) and is_real(node):
            left += [(each, node) for each in node.all_input_nodes]


def is_real(node: Node) -> bool:
    """Whether a node's result has a range; that of a comparison does not."""
    value = node.meta.get("val")
    return not isinstance(value, Tensor) or value.is_floating_point()


def is_read_in_float(node: Node, precision: Patterns) -> bool:
    """Whether only operators in float read an input, in modules of int16 activations."""
    return all(
        precision_of(user, precision) in SHORT_ACTIVATIONS
        and user.op == "call_function"
        and Q_ANNOTATION_KEY not in user.meta
        for user in node.users
    )


def compare_as_read(node: Node) -> None:
    """Lets comparisons of an input with numbers share its range."""
    for user in node.users:
        annotation = user.meta.get(Q_ANNOTATION_KEY)
        if annotation is not None and not is_real(user) and node in annotation.input_qspec_map:
            annotation.input_qspec_map[node] = SharedQuantizationSpec(node)


def _derived(source: Node) -> Iterator[DerivedObserverOrFakeQuantize]:
    """Quantisers of the biases of layers that read a tensor."""
    for user in source.users:
        for other in user.all_input_nodes:
            observer = observer_of(other) if other.op == "call_module" else None
            if isinstance(observer, DerivedObserverOrFakeQuantize):
                yield observer
