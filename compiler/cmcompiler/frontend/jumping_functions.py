"""Functions that jump, in float where 16 bits would interpolate them. Importing it imports torch.

Tables of int16 have fewer entries than numbers: between two entries on both sides of a jump, as of
`frac` or `floor`, results lie anywhere in it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.fx import GraphModule

from cmcompiler.frontend import backend
from cmcompiler.frontend.fidelity.decisions import Jumps, jumps
from cmcompiler.frontend.float_parts import UnroundedPart
from cmcompiler.frontend.operators import short
from cmcompiler.ops.interpolation import magnitudes

assert short.LIBRARY  # the operators exist

REASON = "16 bits are interpolated across its jumps"


def jump_in_float(prepared: GraphModule) -> frozenset[str]:
    """Computes functions in float that jump between entries of their tables.

    Returns: the names of operators in float.
    """
    names: set[str] = set()
    functions = [
        node
        for node in prepared.graph.nodes
        if node.target is torch.ops.cmbuild.short_function.default and backend.is_quantized(node)
    ]
    for node in functions:
        places = jumps(node)
        if places is None or not _is_interpolated(places):
            continue
        part = UnroundedPart(prepared)
        if part.extend([node]):
            names |= part.keep()
        else:
            part.undo()
    return frozenset(names)


def _is_interpolated(places: Jumps) -> bool:
    """Whether some jump lies between numbers that are not both entries."""
    ends = np.stack([(end / places.step).round().abs() for end in (places.below, places.above)])
    return not bool(np.isin(ends, magnitudes()).all())
