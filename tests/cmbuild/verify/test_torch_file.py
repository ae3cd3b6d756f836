from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cmbuild.errors import UsageError
from cmbuild.verify.torch_file import read_tensor

DATA = Path(__file__).parents[2] / "data" / "tensors"


def archive(path: Path, pickled: bytes, storage: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x/data.pkl", pickled)
        file.writestr("x/data/0", storage)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float32", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("transposed", np.arange(6, dtype=np.float32).reshape(2, 3).T),
        ("slice", np.arange(6, dtype=np.int64)[2:5]),
        ("int8", np.array([-128, 127], np.int8)),
        ("bool", np.array([True, False])),
        ("scalar", np.array(2.5)),
        ("empty", np.zeros((0, 3), np.float32)),
        ("channels_last", np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)),
    ],
)
def test_files_of_torch(name: str, expected: np.ndarray) -> None:
    actual = read_tensor(DATA / f"{name}.pt")
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("state_dict", "it holds a OrderedDict"),
        ("list", "it holds a list"),
        ("module", "it holds a torch.nn.modules.linear.Linear"),
        ("bfloat16", "it holds a torch.BFloat16Storage"),
    ],
)
def test_files_that_hold_something_else(name: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_tensor(DATA / f"{name}.pt")
    assert str(caught.value) == f"{DATA / name}.pt is not a file of one tensor: {problem}"


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("/tmp/evil"),))


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.pt", pickle.dumps(Evil()))
    with pytest.raises(UsageError, match="is not a file of one tensor: it holds a "):
        read_tensor(path)
    assert not Path("/tmp/evil").exists()


def test_damaged_files(tmp_path: Path) -> None:
    whole = (DATA / "float32.pt").read_bytes()
    for size in range(0, len(whole), 97):
        (tmp_path / "x.pt").write_bytes(whole[:size])
        with pytest.raises(UsageError):
            read_tensor(tmp_path / "x.pt")
    with zipfile.ZipFile(DATA / "float32.pt") as file:
        folder = file.namelist()[0].partition("/")[0]
        pickled = file.read(f"{folder}/data.pkl")
    for index in range(len(pickled)):
        damaged = bytearray(pickled)
        damaged[index] ^= 0x41
        path = archive(tmp_path / "y.pt", bytes(damaged), bytes(24))
        try:
            assert read_tensor(path).size <= 6
        except UsageError:
            continue
