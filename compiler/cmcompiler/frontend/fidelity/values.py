"""Numbers that a program's integers stand for. Importing it imports torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cmcompiler.frontend.fidelity.pairing import StepRange

Array = npt.NDArray[Any]


def real(made: Array, held: StepRange | None) -> Tensor:
    """The numbers that a program's values stand for."""
    if held is None:
        # A view of a constant cannot be written, of which torch warns.
        return torch.from_numpy(np.require(made, requirements="W"))
    steps = torch.from_numpy(np.asarray(made, np.float64)) - held.zero_point
    return steps * held.scale
