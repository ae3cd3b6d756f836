from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from cmcompiler.arrays import check_unpacked, read_arrays
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


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize(
    "dtype", ["?", "i1", "<u2", ">i8", "f2", "c8", "M8[s]", "S3", "U2", "i4,f4"]
)
def test_what_numpy_writes_is_read_as_numpy_reads_it(tmp_path, dtype, order):
    for shape in ((), (0, 3), (3,), (2, 3, 4)):
        array = np.zeros(shape, dtype, order)
        for save, name in ((np.save, "a.npy"), (np.savez_compressed, "a.npz")):
            save(tmp_path / name, array)
            (actual,) = read_arrays(tmp_path / name).values()
            assert actual.dtype == array.dtype.newbyteorder("=") and actual.flags.writeable
            np.testing.assert_array_equal(actual, array)


def header(shape, dtype="<f4"):
    buffer = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def peak_of(work):
    """The most bytes that Python and NumPy have allocated while working."""
    tracemalloc.start()
    with suppress(InvalidRequest):
        work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_refused_header_is_all_that_is_read(tmp_path):
    def accept(headers):
        for name, (dtype, shape) in headers.items():
            if dtype != np.float32 or len(shape) != 1:
                raise InvalidRequest(f"{name} is {dtype} {shape}")

    sparse, bomb = tmp_path / "sparse.npy", tmp_path / "bomb.npz"
    with sparse.open("wb") as file:
        file.write(header((3 << 30,), "|i1"))
        file.truncate(3 << 30)
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header((64,)) + bytes(256))
        archive.writestr("y.npy", header((8 << 20, 2)) + bytes(64 << 20))
    for path, message in ((sparse, "^ is int8"), (bomb, "^y is float32")):
        with pytest.raises(InvalidRequest, match=message):
            read_arrays(path, accept)
        assert peak_of(lambda path=path: read_arrays(path, accept)) < 2 << 20


def test_headers_that_promise_too_much_are_refused(tmp_path):
    for shape, reason in (((1 << 31,), "an array of 8,589,934,592 bytes"), ((1 << 28,), "cut off")):
        (tmp_path / "a.npy").write_bytes(header(shape) + bytes(100))
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("a.npy", header(shape) + bytes(100))
        for name in ("a.npy", "a.npz"):
            with pytest.raises(InvalidRequest, match=reason):
                read_arrays(tmp_path / name)
            assert peak_of(lambda name=name: read_arrays(tmp_path / name)) < 2 << 20


def test_what_an_archive_unpacks_to_is_limited(tmp_path):
    """Sizes are those of the directory, which zipfile never reads beyond."""
    for name, read in (("a.npz", read_arrays), ("a.pt", check_unpacked)):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("a.npy", header((4,)) + bytes(16))
        whole = bytearray((tmp_path / name).read_bytes())
        place = whole.rindex(b"PK\x01\x02") + 24
        whole[place : place + 4] = struct.pack("<I", 3 << 30)
        (tmp_path / name).write_bytes(whole)
        with pytest.raises(InvalidRequest, match="unpacks to 3,221,225,472 bytes"):
            read(tmp_path / name)
