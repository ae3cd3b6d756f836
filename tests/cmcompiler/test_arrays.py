from __future__ import annotations

import random
import zipfile

import numpy as np
import pytest

from cmcompiler.arrays import read_arrays
from cmcompiler.errors import InvalidRequest

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("order", "<>")
def test_arrays_come_in_this_machines_byte_order(tmp_path, order):
    foreign = ARRAY.astype(ARRAY.dtype.newbyteorder(order))
    np.save(tmp_path / "a.npy", foreign)
    np.savez(tmp_path / "b.npz", x=foreign)
    for array in (read_arrays(tmp_path / "a.npy")[""], read_arrays(tmp_path / "b.npz")["x"]):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, ARRAY)


def test_an_archive_of_other_things_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("input_0", "no array")
    with pytest.raises(
        InvalidRequest, match="does not contain readable arrays: an archive without"
    ):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_damaged_files_are_read_or_refused(tmp_path, name):
    np.save(tmp_path / "a.npy", ARRAY)
    np.savez(tmp_path / "a.npz", x=ARRAY)
    whole, refused = (tmp_path / name).read_bytes(), 0
    for seed in range(1000):
        rng, damaged = random.Random(seed), bytearray(whole)
        damaged[rng.randrange(len(whole))] = rng.randrange(256)
        (tmp_path / name).write_bytes(damaged[: rng.choice([len(whole), rng.randrange(200)])])
        try:
            read_arrays(tmp_path / name)
        except InvalidRequest:
            refused += 1
    assert refused > 500
