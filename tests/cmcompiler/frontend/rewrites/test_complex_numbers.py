"""Complex tensors as pairs, Fourier transforms as products."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import is_float
from harness.rewriting import Function, rewritten
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.complex_numbers import separate_parts
from cmcompiler.frontend.sensitivity import snr

torch.manual_seed(0)
FACTORS = torch.randn(4, 9, dtype=torch.complex64)
SQUARE = torch.randn(16, 3, dtype=torch.complex64)
ROTATION = torch.polar(torch.ones(8, 4), torch.outer(torch.arange(8.0), torch.rand(4)))
WINDOW = torch.hann_window(16)
ONES = torch.ones(16)
SHORT = torch.hamming_window(10)


def _spectrum(x: Tensor, **options: object) -> Tensor:
    return torch.stft(x, 16, 4, window=WINDOW, return_complex=True, **options)


def _rotated(x: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.reshape(2, 8, 2, 4, 2))
    return torch.view_as_real(pairs * ROTATION[None, :, None]).flatten(3)


ROWS, IMAGE, SIGNAL, LINE = (2, 4, 16), (2, 4, 6, 5), (2, 64), (64,)

COMPUTED = {
    "rfft": (ROWS, lambda x: torch.view_as_real(torch.fft.rfft(x))),
    "rfft of fewer": (ROWS, lambda x: torch.view_as_real(torch.fft.rfft(x, 11, norm="ortho"))),
    "rfft of more": (ROWS, lambda x: torch.fft.rfft(x, 7, dim=1, norm="forward").abs()),
    "fft": (ROWS, lambda x: torch.fft.fft(x).real + torch.fft.fft(x, 20).imag[..., :16]),
    "fft twice": (ROWS, lambda x: torch.fft.fft(torch.fft.fft(x), dim=-2, norm="forward").real),
    "ifft": (ROWS, lambda x: torch.fft.ifft(torch.fft.fft(x) * 1j, norm="ortho").imag),
    "irfft": (ROWS, lambda x: torch.fft.irfft(torch.fft.rfft(x) * FACTORS)),
    "irfft, odd": (ROWS, lambda x: torch.fft.irfft(torch.fft.rfft(x), 13, norm="ortho")),
    "irfft of real numbers": (ROWS, lambda x: torch.fft.irfft(x, norm="forward")),
    "fft2": (IMAGE, lambda x: torch.fft.fft2(x, (4, 5)).abs()),
    "fftn": (IMAGE, lambda x: torch.fft.ifftn(torch.fft.fftn(x, dim=(1, 3)), dim=(1, 3)).real),
    "rfft2": (IMAGE, lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 2j, s=(6, 5))),
    "stft": (SIGNAL, lambda x: _spectrum(x).abs()),
    "stft, power": (SIGNAL, lambda x: _spectrum(x, center=False, normalized=True).abs().pow(2)),
    "stft, pairs": (
        SIGNAL,
        lambda x: torch.stft(x, 16, 4, window=WINDOW, return_complex=False).square().sum(-1),
    ),
    "stft of one": (LINE, lambda x: torch.view_as_real(_spectrum(x))),
    "stft of all frequencies": (SIGNAL, lambda x: _spectrum(x, onesided=False).angle().cos()),
    "stft with a short window": (
        SIGNAL,
        lambda x: torch.stft(x, 16, win_length=10, window=SHORT, return_complex=True).abs() ** 2,
    ),
    "istft": (SIGNAL, lambda x: torch.istft(_spectrum(x), 16, 4, window=WINDOW)),
    "istft with a length": (
        LINE,
        lambda x: torch.istft(_spectrum(x) * 0.5, 16, 4, window=WINDOW, length=70),
    ),
    "istft to the ends": (
        SIGNAL,
        lambda x: torch.istft(
            _spectrum(x, center=False) * 2, 16, 5, window=ONES, center=False, normalized=True
        ),
    ),
    "rotation": ((2, 8, 16), _rotated),
    "polar": (ROWS, lambda x: torch.view_as_real(torch.polar(x.abs(), x * 2))),
    "conjugate": (ROWS, lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x).conj())),
    "matmul": (ROWS, lambda x: torch.matmul(torch.fft.fft(x), SQUARE).abs()),
    "einsum": (
        ROWS,
        lambda x: torch.einsum("bck,ck->bc", torch.fft.rfft(x), FACTORS).real,
    ),
    "quotient": (
        ROWS,
        lambda x: (torch.fft.rfft(x) / (torch.complex(x, -x)[..., :9] + 3)).imag,
    ),
    "real quotient": (ROWS, lambda x: (torch.fft.rfft(x) / (x[..., :9].abs() + 1)).real),
    "sums": (ROWS, lambda x: ((1 - 2j * x) + (x - (torch.fft.fft(x) - 3 * x))).square().real),
    "exponential": (ROWS, lambda x: (torch.exp(1j * x) * torch.exp(torch.complex(x, x))).imag),
    "movements": (
        ROWS,
        lambda x: (
            torch.cat([torch.fft.rfft(x)[:, 1:], torch.complex(x, x)[..., :9]], 1)
            .transpose(1, 2)
            .chunk(3, 1)[1]
            .sum(-1)
            .abs()
        ),
    ),
    "shift": (ROWS, lambda x: torch.fft.fftshift(torch.fft.ifftshift(torch.fft.fft(x), 1)).real),
}


@pytest.mark.filterwarnings("ignore:stft with return_complex=False is deprecated")
@pytest.mark.parametrize("name", COMPUTED)
def test_nothing_complex_remains(name):
    shape, function = COMPUTED[name]
    graph = rewritten(Function(function), torch.randn(shape), by=separate_parts, tolerance=1e-4)
    assert not any(_is_complex(node.meta.get("val")) for node in graph.graph.nodes)


def _is_complex(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_complex()


def test_magnitude_and_power_share_a_sum():
    module = Function(lambda x: torch.fft.rfft(x).abs().pow(2))
    graph = rewritten(module, torch.randn(ROWS), by=separate_parts, tolerance=1e-4)
    assert torch.ops.aten.sqrt.default not in {node.target for node in graph.graph.nodes}


class FrontEnd(nn.Module):
    """Logarithms of the energy in bands of a spectrum, that of some frequencies doubled."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bands", torch.rand(4, 9))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = _spectrum(x)
        doubled = torch.zeros_like(spectrum)
        doubled[:, 2:6] = spectrum[:, 2:6] * 2
        return torch.log(torch.matmul(self.bands, doubled.abs().pow(2)) + 1e-2)


def test_a_front_end_inside_a_model_is_computed_in_integers():
    torch.manual_seed(0)
    module, inputs = FrontEnd(), [torch.randn(1, 64) for _ in range(8)]
    compiled = api.compile(module, inputs[0], inputs)
    assert compiled.vectors is not None
    made = [torch.from_numpy(y) for (y,) in api.reference(compiled, compiled.vectors)]
    assert snr([module(x) for x in inputs], made) > 35
    labels = {node.op.label for node in compiled.graph.nodes if is_float(node)}
    assert labels <= {"quantize", "dequantize", "view"}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: torch.fft.fft(x).tanh().real, "tanh"),
        (lambda x: torch.linalg.inv(torch.complex(x, x)).real, "linalg_inv"),
    ],
)
def test_other_operators_are_named(function, name):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return function(x)

    with pytest.raises(Unsupported, match=rf"test_complex_numbers.py:\d+: {name}\w* makes complex"):
        rewritten(Net(), torch.randn(4, 4), by=separate_parts)
