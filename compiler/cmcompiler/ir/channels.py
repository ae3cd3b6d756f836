"""Channels of int8 tensors: what each may hold, which must exist, and what ties them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.tensor import Tensor

T = TypeVar("T")

Mask = npt.NDArray[np.bool_]
"""One element a channel."""

Indices = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.int64]

LEAST, MOST = -128, 127


def channel_count(tensor: Tensor) -> int:
    """The size of a tensor's last dimension; 1 for a number."""
    return tensor.shape[-1] if tensor.shape else 1


@dataclass(frozen=True, eq=False, slots=True)
class Bounds:
    """The least and the largest number that each channel may hold, int64 [channels]."""

    least: Numbers
    most: Numbers

    @classmethod
    def every(cls, channels: int) -> Bounds:
        """The bounds of channels that may hold any int8 number."""
        return cls(np.full(channels, LEAST), np.full(channels, MOST))

    @classmethod
    def of(cls, tensor: Tensor) -> Bounds:
        """The bounds of a tensor that no known op writes: of its data, if it is a constant."""
        data = tensor.data
        if data is None or not data.size:
            return cls.every(channel_count(tensor))
        rows = data.reshape(-1, channel_count(tensor)).astype(np.int64)
        return cls(rows.min(axis=0), rows.max(axis=0))

    @property
    def constant(self) -> Mask:
        """The channels that hold one number whatever the inputs."""
        return np.asarray(self.least == self.most)

    def select(self, channels: Indices | Mask) -> Bounds:
        return Bounds(self.least[channels], self.most[channels])


@dataclass(frozen=True, eq=False, slots=True)
class Channels:
    """Knowledge about a tensor's channels.

    Attributes:
        kept: those that exist after pruning.
    """

    bounds: Bounds
    kept: Mask

    @property
    def computed(self) -> Mask:
        """The kept ones that depend on inputs."""
        return self.kept & ~self.bounds.constant


class ChannelRule(ABC, Generic[T]):
    """How the channels of an op's int8 output depend on those of its int8 inputs.

    T is the op's class.
    """

    @abstractmethod
    def bounds(self, inputs: Sequence[Bounds]) -> Bounds:
        """The output's bounds."""

    @abstractmethod
    def needed(self, inputs: Sequence[Channels], output: Channels) -> tuple[Sequence[Mask], Mask]:
        """Channels of the inputs, and of the output, that must exist with the kept ones."""

    @abstractmethod
    def pruned(self, inputs: Sequence[Channels], output: Channels) -> T:
        """The op on the kept channels: it gives the numbers that it gave before."""


@dataclass(frozen=True, eq=False, slots=True)
class Tie:
    """Channels of an input and of the output that exist together or not at all.

    Attributes:
        source: index of the input.
        read, written: the channels, in pairs.
    """

    source: int
    read: Indices
    written: Indices

    @classmethod
    def same(cls, source: int, channels: int) -> Tie:
        """Each channel of an input with the one of the same index."""
        every = np.arange(channels)
        return cls(source, every, every)


class TiedRule(ChannelRule[T]):
    """A rule of an op whose channels are tied."""

    @property
    @abstractmethod
    def ties(self) -> Iterable[Tie]:
        """The ties of all channels that the op moves or computes."""

    def needed(self, inputs: Sequence[Channels], output: Channels) -> tuple[Sequence[Mask], Mask]:
        wanted = [channels.kept.copy() for channels in inputs]
        made = output.kept.copy()
        for tie in self.ties:
            np.logical_or.at(wanted[tie.source], tie.read, output.kept[tie.written])
            np.logical_or.at(made, tie.written, inputs[tie.source].kept[tie.read])
        return wanted, made


def restricted(tensor: Tensor, kept: Mask) -> Tensor:
    """A tensor of the kept channels only; itself if those are all."""
    if kept.all():
        return tensor
    data = None if tensor.data is None else np.ascontiguousarray(tensor.data[..., kept])
    shape = (*tensor.shape[:-1], int(kept.sum()))
    return replace(tensor, shape=shape, data=data, held=None)
