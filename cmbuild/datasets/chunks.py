"""Chunks of labelled samples: files that hold as many as one start of an image computes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmbuild.errors import UsageError
from cmbuild.files import write
from cmbuild.text import shape
from cmcompiler.frontend.vectors import Samples

Array = npt.NDArray[Any]
Labelled = tuple[Sequence[Array], int]
"""A sample's inputs, and its class or -1."""

_COUNT = "count.json"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some samples of a file."""

    file: Path
    first: int
    count: int


def chunks_of(file: Path, count: int, size: int) -> list[Chunk]:
    """The first `count` samples of one file."""
    return [Chunk(file, first, min(size, count - first)) for first in range(0, count, size)]


def write_chunks(samples: Iterable[Labelled], folder: Path, size: int, limit: int | None) -> int:
    """Writes a file for each chunk, then how many samples there are.

    Args:
        limit: the most samples; all if None.

    Raises:
        UsageError: samples that differ in shape.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rest, count = iter(samples) if limit is None else islice(samples, limit), 0
    for index, batch in enumerate(_batches(rest, size)):
        stacked = Samples.stack(
            _alike([inputs for inputs, _ in batch], count), np.array([label for _, label in batch])
        )
        stacked.save(_file(folder, index))
        count += len(batch)
    write(folder / _COUNT, json.dumps(count))
    return count


def read_chunks(folder: Path, size: int) -> list[Chunk] | None:
    """The chunks that `write_chunks` wrote; None if it did not come to its end."""
    try:
        count = json.loads((folder / _COUNT).read_text())
    except FileNotFoundError:
        return None
    starts = range(0, count, size)
    return [
        Chunk(_file(folder, index), 0, min(size, count - start))
        for index, start in enumerate(starts)
    ]


def _file(folder: Path, index: int) -> Path:
    return folder / f"{index:06}.npz"


def _batches(samples: Iterator[Labelled], size: int) -> Iterator[list[Labelled]]:
    while batch := list(islice(samples, size)):
        yield batch


def _alike(rows: list[Sequence[Array]], before: int) -> list[Sequence[Array]]:
    wanted = [array.shape for array in rows[0]]
    for number, row in enumerate(rows, start=before + 1):
        if (shapes := [array.shape for array in row]) != wanted:
            one, other = (" and ".join(map(shape, sizes)) for sizes in (shapes, wanted))
            raise UsageError(message=f"sample {number:,} is {one}, those before it {other}")
    return rows
