"""The members that a reduction makes one number of, where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from cmcompiler.ir.operand import Operand


@dataclass(frozen=True, slots=True)
class Members:
    """A tensor as [outer, members, inner], of which the members are reduced.

    Attributes:
        order: of the source's dimensions, that the members need to be next to each other.
        is_unmoved: whether that is the source's own order.
        result_order: of the result's dimensions.
    """

    outer: int
    members: int
    inner: int
    order: tuple[int, ...]
    is_unmoved: bool
    result_order: tuple[int, ...]

    @classmethod
    def of(cls, source: Operand, dims: Sequence[int], keepdim: bool) -> Members:
        """Dimensions that are next to each other in memory are reduced where they are."""
        shape, kept = source.shape, [dim for dim in range(source.rank) if dim not in dims]
        physical = [dim for dim in source.dim_order if shape[dim] != 1]
        places = [place for place, dim in enumerate(physical) if dim in dims]
        is_run = places == list(range(places[0], places[0] + len(places))) if places else True
        before = physical[: places[0]] if places else physical
        after = physical[places[-1] + 1 :] if places else []
        if not is_run:
            before, after = [dim for dim in physical if dim in kept], []
        ones = [dim for dim in range(source.rank) if shape[dim] == 1]
        reduced = [dim for dim in physical if dim in dims]
        names = list(range(source.rank)) if keepdim else kept
        result = [*(dim for dim in names if dim in ones or dim in dims), *before, *after]
        return cls(
            prod(shape[dim] for dim in before),
            prod(shape[dim] for dim in dims),
            prod(shape[dim] for dim in after),
            tuple(source.dim_order) if is_run else (*ones, *before, *reduced),
            is_run,
            tuple(names.index(dim) for dim in result),
        )
