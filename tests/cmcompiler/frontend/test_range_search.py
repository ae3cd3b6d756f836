import pytest
import torch
from torchao.quantization.pt2e import HistogramObserver

from cmcompiler.frontend.range_search import searched_range

KINDS = {
    "bell": lambda x: x,
    "half": torch.relu,
    "long tails": lambda x: torch.exp(3 * x),
    "few values": lambda x: (4 * x).round(),
    "signs": torch.sign,
    "tiny": lambda x: 1e-30 * x,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [3, 200])
def test_the_range_is_that_of_the_observer(kind, count):
    observer = HistogramObserver(dtype=torch.int8, quant_min=-128, quant_max=127)
    for _ in range(2):
        observer(KINDS[kind](torch.randn(count)))
    expected = observer._non_linear_param_search()
    assert all(map(torch.equal, searched_range(observer), expected))


def test_the_range_of_one_number_alone():
    observer = HistogramObserver(dtype=torch.int8, quant_min=-128, quant_max=127)
    observer(torch.full((50,), 3.0))
    assert searched_range(observer) == (3, 3)
