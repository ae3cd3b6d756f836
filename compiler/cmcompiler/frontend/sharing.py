"""Groups of tensors that share a range, each led by its first. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch.fx import Graph, Node
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

Place: TypeAlias = Node | tuple[Node, Node]
"""A place with a range: a node's output, or the edge from a node to a user."""

_ATTRIBUTES = (
    *("dtype", "is_dynamic", "quant_min", "quant_max"),
    *("qscheme", "ch_axis", "scale", "zero_point"),
)


def appoint_leaders(graph: Graph) -> None:
    """Gives the first place of each group the group's specification; the others refer to it.

    torchao follows references without end where those of one tensor meet in a circle, as in
    `cat([x.mean(1), x.amax(1), x.amin(1)])`.
    """
    specs = dict(_specifications(graph))
    groups = _Groups(specs)
    for place, spec in specs.items():
        if _is_shared(spec):
            groups.join(place, spec.edge_or_node)
    asked = groups.first_by_leader(specs)
    # Places of one tensor share its range even without a reference, if they ask for the same.
    equals: dict[Hashable, Place] = {}
    for place in specs:
        if isinstance(place, Node) or place[1].meta[Q_ANNOTATION_KEY].allow_implicit_sharing:
            tensor = place if isinstance(place, Node) else place[0]
            spec = asked[groups.leader(place)]
            key = (tensor, *(getattr(spec, name, None) for name in _ATTRIBUTES))
            groups.join(place, equals.setdefault(key, place))
    for leader, spec in groups.first_by_leader(specs).items():
        _specify(leader, spec)
    for place in specs:
        if groups.leader(place) != place:
            _specify(place, SharedQuantizationSpec(groups.leader(place)))


def keep_fixed_ranges(graph: Graph) -> None:
    """Lets users read a tensor in the range that its operator fixes, as softmax does.

    With a range of their own, it would be dequantised and quantised again, less exactly. Groups
    must have leaders.
    """
    specs = dict(_specifications(graph))
    leaders = {each.edge_or_node for each in specs.values() if _is_shared(each)}
    for place, spec in specs.items():
        if isinstance(place, Node) or not isinstance(spec, QuantizationSpec) or place in leaders:
            continue
        source: Any = specs.get(place[0])
        origin = source.edge_or_node if _is_shared(source) else place[0]
        fixed = specs.get(origin)
        if not isinstance(fixed, FixedQParamsQuantizationSpec) or spec.dtype != fixed.dtype:
            continue
        # Tensors of 16 bits have a zero point of 0: an observed range could only be narrower.
        is_short = spec.dtype == torch.int16
        # Without limits, all values of the type are meant.
        if is_short or (spec.quant_min or fixed.quant_min, spec.quant_max or fixed.quant_max) == (
            fixed.quant_min,
            fixed.quant_max,
        ):
            _specify(place, SharedQuantizationSpec(origin))


def _is_shared(spec: Any) -> bool:
    return isinstance(spec, SharedQuantizationSpec)


class _Groups:
    """Disjoint sets of places, each led by its first in the order of the graph."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._position = {place: index for index, place in enumerate(places)}
        self._parent = {place: place for place in self._position}

    def leader(self, place: Place) -> Place:
        while (parent := self._parent[place]) != place:
            self._parent[place] = place = self._parent[parent]
        return place

    def join(self, one: Place, other: Place) -> None:
        first, second = sorted(map(self.leader, (one, other)), key=self._position.__getitem__)
        self._parent[second] = first

    def first_by_leader(self, specs: Mapping[Place, Any]) -> dict[Place, Any]:
        """The first specification of each group that refers to no other."""
        by_leader: dict[Place, Any] = {}
        for place, spec in specs.items():
            if not _is_shared(spec):
                by_leader.setdefault(self.leader(place), spec)
        return by_leader


def _specifications(graph: Graph) -> Iterator[tuple[Place, Any]]:
    for node in graph.nodes:
        annotation = node.meta.get(Q_ANNOTATION_KEY)
        if annotation is not None:
            for source, spec in annotation.input_qspec_map.items():
                if spec is not None:
                    yield (source, node), spec
            if annotation.output_qspec is not None:
                yield node, annotation.output_qspec


def _specify(place: Place, spec: Any) -> None:
    if isinstance(place, Node):
        place.meta[Q_ANNOTATION_KEY].output_qspec = spec
    else:
        source, user = place
        user.meta[Q_ANNOTATION_KEY].input_qspec_map[source] = spec
