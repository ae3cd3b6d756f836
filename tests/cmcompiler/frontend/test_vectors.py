from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.vectors import Samples


def some_samples() -> Samples:
    inputs = np.arange(24, dtype=np.float32).reshape(3, 1, 8), np.arange(3, dtype=np.int64)
    return Samples(inputs, np.array([2, 0, 1]))


def test_what_is_saved_is_loaded(tmp_path):
    samples = some_samples()
    samples.save(tmp_path / "samples.npz")
    loaded = Samples.load(tmp_path / "samples.npz")
    assert len(loaded) == 3
    np.testing.assert_array_equal(loaded.labels, samples.labels)
    for mine, theirs in zip(loaded, samples, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


def test_equal_samples_make_equal_files(tmp_path):
    for name in ("a.npz", "b.npz"):
        some_samples().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_samples_are_stacked_by_input():
    one, two = np.zeros((1, 4)), np.ones((1, 4))
    samples = Samples.stack([(one, two), (two, one)])
    assert [array.shape for array in samples.inputs] == [(2, 1, 4), (2, 1, 4)]
    np.testing.assert_array_equal(samples[1][1], one)


def bad_files(folder):
    np.savez(folder / "other_lengths.npz", input_0=np.zeros(3), input_1=np.zeros(4))
    np.savez(folder / "no_dimension.npz", input_0=np.float32(1))
    np.savez(folder / "empty.npz")
    np.savez(folder / "objects.npz", input_0=np.array([{}], dtype=object))
    np.save(folder / "array.npy", np.zeros(3))
    (folder / "text.npz").write_text("no archive")
    some_samples().save(folder / "short.npz")
    whole = (folder / "short.npz").read_bytes()
    (folder / "short.npz").write_bytes(whole[: len(whole) // 2])
    return [*folder.iterdir(), folder / "missing.npz"]


def test_a_bad_file_is_one_clear_line(tmp_path):
    files = bad_files(tmp_path)
    assert len(files) == 8
    for file in files:
        with pytest.raises(InvalidRequest) as caught:
            Samples.load(file)
        assert str(file) in caught.value.message
        assert "\n" not in caught.value.message
