"""Runs programs of ExecuTorch's CortexMTester somewhere other than on an FVP."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from cmcompiler.target import Target

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]

Run = Callable[[bytes, Sequence[Array]], Sequence[Array]]
"""A program's outputs for one sample, all in logical shapes."""


@contextmanager
def running(run: Run) -> Iterator[None]:
    """While active, the tester's last stage passes its program to `run` and returns the result.

    Inputs that are not tensors are constants of the program. The rest of the tester, including its
    tolerances, is unchanged.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    from cmcompiler.frontend.backend import tester_stage

    def run_artifact(self: Any, inputs: object) -> tuple[torch.Tensor, ...]:
        tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
        return tuple(torch.from_numpy(np.array(a)) for a in run(bytes(self.artifact), arrays))

    with patch.object(tester_stage(), "run_artifact", run_artifact):
        yield


def seed(number: int) -> None:
    """Seeds the random generators that ExecuTorch's tests use, as they do before each test."""
    import torch

    random.seed(number)
    torch.manual_seed(number)


def target_config(target: Target) -> Any:
    """A target as CortexMTester takes it: a CortexMTargetConfig."""
    from cmcompiler.frontend import backend

    return backend.target_config(target)
