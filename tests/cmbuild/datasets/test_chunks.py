"""Chunks hold every sample once, and are believed only when they are whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cmbuild.datasets.chunks import Chunk, Labelled, chunks_of, read_chunks, write_chunks
from cmbuild.errors import UsageError
from cmcompiler.frontend.vectors import Samples


def rows(count: int) -> list[Labelled]:
    return [((np.full((2, 3), number, np.float32),), number % 4) for number in range(count)]


@pytest.mark.parametrize(("limit", "counts"), [(None, [4, 4, 2]), (5, [4, 1]), (4, [4])])
def test_each_sample_is_there_once(limit: int | None, counts: list[int], tmp_path: Path) -> None:
    assert read_chunks(tmp_path / "data", 4) is None
    assert write_chunks(rows(10), tmp_path / "data", 4, limit) == sum(counts)
    chunks = read_chunks(tmp_path / "data", 4)
    assert chunks is not None and [chunk.count for chunk in chunks] == counts
    listed = [Samples.load(chunk.file) for chunk in chunks]
    values = np.concatenate([samples.inputs[0][:, 0, 0] for samples in listed])
    assert values.tolist() == list(range(sum(counts)))
    labels = np.concatenate([samples.labels for samples in listed if samples.labels is not None])
    assert labels.tolist() == [number % 4 for number in range(sum(counts))]


def test_what_was_interrupted_does_not_count(tmp_path: Path) -> None:
    def broken() -> object:
        yield from rows(6)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_chunks(broken(), tmp_path, 4, None)  # type: ignore[arg-type]
    assert (tmp_path / "000000.npz").exists() and read_chunks(tmp_path, 4) is None


def test_samples_of_several_shapes_are_refused(tmp_path: Path) -> None:
    odd = [*rows(2), ((np.zeros((3, 2), np.float32),), 0)]
    with pytest.raises(UsageError, match="sample 3 is 3×2, those before it 2×3"):
        write_chunks(odd, tmp_path, 4, None)


def test_chunks_of_a_file() -> None:
    file = Path("data.npz")
    assert chunks_of(file, 10, 4) == [Chunk(file, 0, 4), Chunk(file, 4, 4), Chunk(file, 8, 2)]
