from __future__ import annotations

import numpy as np
import pytest
import torch

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.calibration import read_calibration

IMAGE = (torch.zeros(1, 2, 3, 4),)
PAIR = (torch.zeros(1, 5), torch.zeros(2, dtype=torch.int64))


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("shape", "samples"), [((1, 2, 3, 4), 1), ((7, 2, 3, 4), 7), ((7, 1, 2, 3, 4), 7)]
)
def test_an_array_is_one_sample_a_batch_or_a_stack(tmp_path, shape, samples):
    np.save(tmp_path / "a.npy", numbers(*shape))
    read = read_calibration(tmp_path / "a.npy", IMAGE)
    assert [[x.shape for x in sample] for sample in read] == [[IMAGE[0].shape]] * samples
    np.testing.assert_array_equal(
        torch.cat([sample[0] for sample in read]).ravel(), numbers(*shape).ravel()
    )


def test_several_inputs_come_in_order_and_in_the_inputs_own_type(tmp_path):
    np.savez_compressed(
        tmp_path / "a.npz",
        input_0=np.float64([[[0, 1, 2, 3, 4]], [[5, 6, 7, 8, 9]]]),
        input_1=np.int32([[1, 2], [3, 4]]),
        labels=np.int64([0, 1]),
    )
    read = read_calibration(tmp_path / "a.npz", PAIR)
    assert len(read) == 2
    assert [tensor.dtype for tensor in read[1]] == [torch.float32, torch.int64]
    assert [tensor.tolist() for tensor in read[1]] == [[[5, 6, 7, 8, 9]], [3, 4]]


def test_torch_files_hold_a_tensor_a_tuple_or_a_list(tmp_path):
    image = torch.rand(1, 2, 3, 4)
    pair = (torch.rand(1, 5), torch.tensor([1, 2]))
    for name, value, example, samples in (
        ("tensor", image, IMAGE, 1),
        ("list", [image, image], IMAGE, 2),
        ("tuple", pair, PAIR, 1),
        ("tuples", [pair, pair, pair], PAIR, 3),
    ):
        torch.save(value, tmp_path / f"{name}.pt")
        read = read_calibration(tmp_path / f"{name}.pt", example)
        assert len(read) == samples
        expected = value if isinstance(value, torch.Tensor) else torch.as_tensor(read[-1][0])
        assert torch.equal(read[-1][0], expected)


def test_the_files_of_a_folder_are_read_by_name(tmp_path):
    for index, name in enumerate(("b.npy", "a.npy", "c.pt")):
        array = np.full((1, 2, 3, 4), index, np.float32)
        if name.endswith("pt"):
            torch.save(torch.from_numpy(array), tmp_path / name)
        else:
            np.save(tmp_path / name, array)
    (tmp_path / "notes.txt").touch()
    read = read_calibration(tmp_path, IMAGE)
    assert [int(sample[0][0, 0, 0, 0]) for sample in read] == [1, 0, 2]


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("shape.npy", lambda f: np.save(f, numbers(3, 4, 2)), "has shape 3×4×2, the model takes 1"),
        ("type.npy", lambda f: np.save(f, np.zeros((1, 2, 3, 4), np.complex64)), "holds complex64"),
        ("two.npz", lambda f: np.savez(f, a=numbers(1), b=numbers(1)), "holds 2 inputs, the model"),
        ("text.npy", lambda f: f.write_text("no array"), "does not contain readable arrays"),
        ("dict.pt", lambda f: torch.save({"a": 1}, f), "does not contain tensors only"),
        ("text.pt", lambda f: f.write_text("no tensor"), "cannot be read"),
        ("text.csv", lambda f: f.write_text("1,2"), "is not a .npy, .npz, .pt file"),
        ("folder", lambda f: f.mkdir(), "no .npy, .npz, .pt files in"),
        ("missing.npy", lambda f: None, "no such file or folder"),
    ],
)
def test_bad_calibration_is_one_clear_line(tmp_path, name, write, message):
    write(tmp_path / name)
    with pytest.raises(InvalidRequest) as caught:
        read_calibration(tmp_path / name, IMAGE)
    assert message in caught.value.message
    assert str(tmp_path / name) in caught.value.message
    assert "\n" not in caught.value.message


def test_inputs_of_different_counts_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", numbers(3, 1, 5), np.zeros((2, 2), np.int64))
    with pytest.raises(InvalidRequest, match="differ in the number of samples"):
        read_calibration(tmp_path / "a.npz", PAIR)
