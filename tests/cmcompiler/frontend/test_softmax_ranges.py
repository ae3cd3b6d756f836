"""Steps of softmaxes: fine enough for the weights of long rows, and others' as ever."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.softmax_ranges import ProbabilityMeter
from cmcompiler.importer.build import build_graph
from cmcompiler.ops.masked_softmax import MaskedSoftmax
from cmcompiler.ops.softmax import MOST_FINER_BITS, Softmax
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

KEYS = 64


class Weights(nn.Module):
    """The weights of each head, of which padded keys have none."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x: Tensor, padded: Tensor) -> Tensor:
        weights: Tensor = self.attention(
            x, x, x, key_padding_mask=padded, average_attn_weights=False
        )[1]
        return weights


class Places(nn.Module):
    """A softmax over all pixels, and one over the channels of each."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layer(x)
        return y.flatten(2).softmax(-1), y.softmax(1)


def finer_bits(program: bytes) -> list[int]:
    ops = [node.op for node in build_graph(read_program(program)).nodes]
    softmaxes = [op.softmax if isinstance(op, MaskedSoftmax) else op for op in ops]
    return [op.finer_bits for op in softmaxes if isinstance(op, Softmax)]


def test_weights_of_long_rows() -> None:
    torch.manual_seed(1)
    counts = torch.randint(KEYS // 3, KEYS, (8,)).tolist()
    samples = [(torch.randn(1, KEYS, 16), torch.arange(KEYS)[None] >= count) for count in counts]
    module = Weights().eval()
    quantized = quantize(module, samples[0], samples)
    program = lower(quantized, Target.parse("cortex-m55"))
    (bits,) = finer_bits(program)
    assert bits > 0
    assert quantized.float_operators == ()
    assert integer_snr(module, program, samples) > 30


def test_probabilities_that_are_fine_keep_their_steps() -> None:
    torch.manual_seed(1)
    samples = [(torch.randn(1, 3, 14, 14),) for _ in range(4)]
    module = Places().eval()
    program = lower(quantize(module, samples[0], samples), Target.parse("cortex-m55"))
    over_pixels, over_channels = finer_bits(program)
    assert over_pixels >= 3
    assert over_channels == 0
    assert integer_snr(module, program, samples) > 30


def spread(rows: int, length: int) -> Tensor:
    """Probabilities from 0.5 to 2 times their mean."""
    values = torch.rand(rows, length, generator=torch.Generator().manual_seed(1)) * 1.5 + 0.5
    return values / values.sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("rows", "bits"),
    [
        (spread(4, 2000), MOST_FINER_BITS),
        (spread(4, 50), 4),
        (spread(4, 8), 0),
        (torch.eye(4, 20), 0),
        (torch.cat([spread(199, 50), torch.eye(1, 50)]), 0),
    ],
    ids=["long", "short", "fine", "peaks", "a peak"],
)
def test_meter(rows: Tensor, bits: int) -> None:
    meter = ProbabilityMeter("softmax", -1)
    meter(rows)
    assert meter.bits(MOST_FINER_BITS) == bits
    assert meter.bits(0) == 0


def test_few_rows_may_exceed_a_range() -> None:
    meter = ProbabilityMeter("softmax", -1)
    meter.rows, meter.signal, meter.noise = 200, 1.0, [0.1 / 4**bits for bits in range(8)]
    meter.clipped = [0, 0, 1, 2, 3, 4, 5, 6]
    assert meter.bits(MOST_FINER_BITS) == 3
    assert meter.bits(2) == 2
