"""Fourier transforms as products with constant tables, on real and imaginary parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import fake
from cmcompiler.frontend.rewrites.traced import written

_ATEN = torch.ops.aten

_Given = dict[str, Any]

SAME_SHARE = 1e-6
"""Relative differences between sums of squared windows that are those of roundings."""


@dataclass(frozen=True, eq=False, slots=True)
class ComplexParts:
    """A complex tensor as two real ones.

    Attributes:
        imaginary: None if it is 0 everywhere.
    """

    real: Node
    imaginary: Node | None = None

    @property
    def parts(self) -> list[Node]:
        return [self.real] if self.imaginary is None else [self.real, self.imaginary]


def _forward(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    return _along(node, x, given["n"], given["dim"], given["norm"], is_inverse=False)


def _inverse(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    return _along(node, x, given["n"], given["dim"], given["norm"], is_inverse=True)


def _half(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    return _along(node, x, given["n"], given["dim"], given["norm"], is_half=True)


def _real(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    return _from_half(node, x, given["n"], given["dim"], given["norm"])


def _forward_of_all(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    for size, dim in _dims(x, given):
        x = _along(node, x, size, dim, given["norm"], is_inverse=False)
    return x


def _inverse_of_all(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    for size, dim in _dims(x, given):
        x = _along(node, x, size, dim, given["norm"], is_inverse=True)
    return x


def _half_of_all(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    *others, (size, dim) = _dims(x, given)
    x = _along(node, x, size, dim, given["norm"], is_half=True)
    for size, dim in others:
        x = _along(node, x, size, dim, given["norm"])
    return x


def _real_of_all(node: Node, x: ComplexParts, given: _Given) -> ComplexParts:
    *others, (size, dim) = _dims(x, given)
    for other, along in others:
        x = _along(node, x, other, along, given["norm"], is_inverse=True)
    return _from_half(node, x, size, dim, given["norm"])


def _dims(x: ComplexParts, given: _Given) -> list[tuple[int | None, int]]:
    rank, sizes, dims = fake(x.real).ndim, given["s"], given["dim"]
    if dims is None:
        dims = range(rank) if sizes is None else range(rank - len(sizes), rank)
    sizes = [None] * len(dims) if sizes is None else [None if n == -1 else n for n in sizes]
    return [(size, dim % rank) for size, dim in zip(sizes, dims, strict=True)]


TRANSFORMS: dict[Any, Callable[[Node, ComplexParts, _Given], ComplexParts]] = {
    _ATEN.fft_fft.default: _forward,
    _ATEN.fft_ifft.default: _inverse,
    _ATEN.fft_rfft.default: _half,
    _ATEN.fft_irfft.default: _real,
    _ATEN.fft_fft2.default: _forward_of_all,
    _ATEN.fft_fftn.default: _forward_of_all,
    _ATEN.fft_ifft2.default: _inverse_of_all,
    _ATEN.fft_ifftn.default: _inverse_of_all,
    _ATEN.fft_rfft2.default: _half_of_all,
    _ATEN.fft_rfftn.default: _half_of_all,
    _ATEN.fft_irfft2.default: _real_of_all,
    _ATEN.fft_irfftn.default: _real_of_all,
}
"""From the operand's parts, and arguments by name, to those of the result."""


def _along(
    node: Node,
    x: ComplexParts,
    size: int | None,
    dim: int,
    norm: str | None,
    *,
    is_inverse: bool = False,
    is_half: bool = False,
) -> ComplexParts:
    """The transform of one dimension, whose elements beyond a given size count as 0.

    Args:
        is_half: only of the frequencies from 0 up that decide the rest.
    """
    given = fake(x.real).shape[dim]
    size = given if size is None else size
    outputs = size // 2 + 1 if is_half else size
    table = _waves(outputs, min(given, size), size, is_inverse) * _factor(size, norm, is_inverse)
    table = torch.nn.functional.pad(table, (0, max(0, given - size)))
    return _product(node, x, dim, table)


def _from_half(
    node: Node, x: ComplexParts, size: int | None, dim: int, norm: str | None
) -> ComplexParts:
    """The real result of the inverse transform of one dimension with half of its frequencies."""
    given = fake(x.real).shape[dim]
    size = 2 * (given - 1) if size is None else size
    table = _half_waves(size)[:, :given] * _factor(size, norm, True)
    table = torch.nn.functional.pad(table, (0, given - table.shape[1]))
    # The part of the product that a real result keeps.
    return ComplexParts(_product(node, x, dim, table).real)


def _waves(rows: int, columns: int, size: int, is_inverse: bool) -> Tensor:
    """exp(∓2πi·row·column/size)"""
    turns = torch.arange(rows)[:, None] * torch.arange(columns) % size
    angles = turns.double() * (2 * math.pi / size)
    return torch.polar(torch.ones_like(angles), angles if is_inverse else -angles)


def _half_waves(size: int) -> Tensor:
    """The inverse transform's columns for half of the frequencies, which stand for all."""
    bins = size // 2 + 1
    table = _waves(size, bins, size, True)
    return table * torch.tensor([1 if 2 * k in (0, size) else 2 for k in range(bins)])


def _factor(size: int, norm: str | None, is_inverse: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(size)
    return 1 / size if is_inverse is (norm != "forward") else 1.0


def _product(node: Node, x: ComplexParts, dim: int, table: Tensor) -> ComplexParts:
    """Real and imaginary parts of a table's product with one dimension."""
    last = fake(x.real).ndim - 1
    dim %= last + 1

    def product(*operands: Any) -> list[Any]:
        if dim < last:
            operands = tuple([each.transpose(dim, -1) for each in operands])
        rows = operands[0] if len(operands) == 1 else torch.cat(operands, -1)
        made = []
        for first, second in ((table.real, -table.imag), (table.imag, table.real)):
            weights = first if len(operands) == 1 else torch.cat([first, second], 1)
            part = torch.nn.functional.linear(rows, weights.float().contiguous())
            made.append(part.transpose(dim, -1) if dim < last else part)
        return made

    return ComplexParts(*written(node, product, *x.parts))


def frames_to_spectra(node: Node, source: Node, given: _Given) -> ComplexParts | None:
    """A short-time transform: a convolution with windowed waves for each part."""
    size = given["n_fft"]
    window = _window(given)
    if window is None or given["align_to_window"]:
        return None
    bins = size if given["onesided"] is False else size // 2 + 1
    table = _waves(bins, size, size, False) * window
    if given["normalized"]:
        table = table * size**-0.5
    is_alone = fake(source).ndim == 1
    shape = [1 if is_alone else len(fake(source)), 1, fake(source).shape[-1]]
    hop = [given["hop_length"] or size // 4]

    def spectra(source: Any) -> list[Any]:
        signal, made = source.reshape(shape), []
        for part in (table.real, table.imag):
            held = part[:, None].float().contiguous()
            spectrum = torch.conv1d(signal, held, None, hop)
            made.append(spectrum.squeeze(0) if is_alone else spectrum)
        return made

    return ComplexParts(*written(node, spectra, source))


def spectra_to_signal(node: Node, x: ComplexParts, given: _Given) -> Node | None:
    """The inverse: a transposed convolution, and a division by the sum of squared windows."""
    size, window = given["n_fft"], _window(given)
    if window is None or given["onesided"] is False or given["return_complex"]:
        return None
    hop = given["hop_length"] or size // 4
    table = (_half_waves(size) / size).T * window
    if given["normalized"]:
        table = table * size**0.5
    is_alone = fake(x.real).ndim == 2
    frames = fake(x.real).shape[-1]
    whole = size + hop * (frames - 1)
    start = size // 2 if given["center"] else 0
    end = whole - start if given["length"] is None else min(start + given["length"], whole)
    envelope = torch.zeros(whole, dtype=torch.float64)
    for frame in range(frames):
        envelope[frame * hop : frame * hop + size] += window.double().square()
    envelope = envelope[start:end]
    if is_uniform := bool(((envelope - envelope[0]).abs() <= SAME_SHARE * envelope[0]).all()):
        table = table / envelope[0]
    # The imaginary part of a product of two is that of neither.
    weights = torch.cat([table.real, -table.imag])[: len(x.parts) * len(table), None]
    missing = 0 if given["length"] is None else given["length"] - (end - start)

    def signal_of(*parts: Any) -> Any:
        spectra = parts[0] if len(parts) == 1 else torch.cat(parts, -2)
        if is_alone:
            spectra = spectra.unsqueeze(0)
        taps = weights.float().contiguous()
        signal: Any = torch.conv_transpose1d(spectra, taps, None, [hop]).squeeze(1)
        signal = signal.narrow(1, start, end - start)
        if not is_uniform:
            signal = signal * (1 / envelope).float()[None]
        if missing > 0:
            signal = signal.constant_pad_nd([0, missing], 0.0)
        return signal.squeeze(0) if is_alone else signal

    made: Node = written(node, signal_of, *x.parts)
    return made


def _window(given: _Given) -> Tensor | None:
    """The window of a short-time transform, as long as the transform; None if it is no constant."""
    size = given["n_fft"]
    length = given["win_length"] or size
    window = torch.ones(length) if given["window"] is None else value_of(given["window"])
    if window is None or window.is_complex():
        return None
    before = (size - length) // 2
    return torch.nn.functional.pad(window.double(), (before, size - length - before))


def shifts(node: Node, rank: int, dims: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The shifts, and dimensions, of roll() with which fftshift and its inverse move."""
    is_back = node.target is _ATEN.fft_ifftshift.default
    chosen = [dim % rank for dim in (range(rank) if dims is None else dims)]
    sizes = fake(node).shape
    return [(sizes[dim] + is_back) // 2 for dim in chosen], chosen
