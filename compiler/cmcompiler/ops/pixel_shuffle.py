"""Channels as blocks of pixels and back: pixel_shuffle, pixel_unshuffle."""

from __future__ import annotations

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.support.movement import move

LARGEST = (1 << 15) - 1


@program_op("aten::pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out)")
def read_shuffle(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    factor = call.integer("upscale_factor", 1, LARGEST)
    _check(call, output.shape, source.shape, factor)
    reads, writes = _in_channels(Strided.of(source), factor), _in_blocks(Strided.of(output), factor)
    move(call, "pixel_shuffle", output, [(source, reads, writes)])


@program_op("aten::pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out)")
def read_unshuffle(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    factor = call.integer("downscale_factor", 1, LARGEST)
    _check(call, source.shape, output.shape, factor)
    reads, writes = _in_blocks(Strided.of(source), factor), _in_channels(Strided.of(output), factor)
    move(call, "pixel_unshuffle", output, [(source, reads, writes)])


def _check(call: Call, large: tuple[int, ...], small: tuple[int, ...], factor: int) -> None:
    """[…, C, H · factor, W · factor] and […, C · factor², H, W]."""
    if len(large) < 3:
        call.invalid(f"{len(large)} dimensions")
    *outer, channels, height, width = large
    fits = height % factor == width % factor == 0
    expected = (*outer, channels * factor**2, height // factor, width // factor)
    if not fits or small != expected:
        call.invalid(f"{list(large)} and {list(small)} by {factor}")


def _in_channels(small: Strided, factor: int) -> Strided:
    """[…, C, factor, factor, H, W]."""
    dim = len(small.shape) - 3
    return small.split(dim, factor).split(dim, factor)


def _in_blocks(large: Strided, factor: int) -> Strided:
    """The elements of the large image in blocks, in the same order."""
    dim = len(large.shape) - 3
    split = large.split(dim + 2, factor).split(dim + 1, factor)
    order = (*range(dim + 1), dim + 2, dim + 4, dim + 1, dim + 3)
    return split.permute(order)
