"""A call that failed is told in the words of the part that failed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.failed_calls import check_arguments, refusal

# Those that the gallery of bad modules does not have.
CASES: dict[str, tuple[nn.Module, Tensor, str, str]] = {
    "normalised in groups": (
        nn.GroupNorm(2, 8),
        torch.ones(1, 6, 4),
        "takes 8 channels, got 6",
        "num_channels=6 takes that",
    ),
    "dilated": (
        nn.Conv1d(2, 2, 3, dilation=4, padding=1),
        torch.ones(1, 2, 6),
        "is left 8",
        "give the model a larger input, pad, or reduce less before it",
    ),
    "one image without its channel": (
        nn.Conv2d(1, 2, 3),
        torch.ones(8, 8),
        "takes 3 or 4 dimensions, got 2",
        "give the batch and the channels each a dimension: x.unsqueeze(0)",
    ),
    "too many dimensions": (
        nn.BatchNorm1d(3),
        torch.ones(1, 3, 2, 2),
        "takes 2 or 3 dimensions, got 4",
        "flatten or reshape its input",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_say_what_they_take(name: str) -> None:
    module, x, text, hint = CASES[name]
    with pytest.raises((RuntimeError, ValueError)) as caught:
        module.eval()(x)
    refused = refusal(caught.value, module)
    assert refused is not None
    assert text in refused.message
    assert refused.hint == hint


def test_an_error_that_nothing_of_the_module_raised_is_left_alone() -> None:
    try:
        torch.ones(2).reshape(3)
    except RuntimeError as error:
        assert "test_failed_calls.py:" in str(refusal(error, nn.Identity()))
    assert refusal(RuntimeError("of no one"), nn.Identity()) is None


@pytest.mark.parametrize("count", [0, 3])
def test_inputs_that_forward_does_not_take(count: int) -> None:
    with pytest.raises(InvalidRequest, match=rf"cannot be called with {count} inputs") as caught:
        check_arguments(nn.Bilinear(2, 2, 2), [torch.ones(1, 2)] * count)
    assert "example_inputs" in str(caught.value.hint)
