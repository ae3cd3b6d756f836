from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from cmbuild.errors import UsageError
from cmbuild.verify.samples import exported_samples, random_samples, user_samples
from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.vectors import Samples
from cmcompiler.ir.quantization import Quantization
from cmcompiler.plan.record import PlaceRecord, PortRecord

SCHEME = Quantization(scale=0.5, zero_point=-3, minimum=-128, maximum=127)


def port(
    dtype: str = "float32",
    shape: tuple[int, ...] = (1, 2, 3),
    scheme: Quantization | None = SCHEME,
) -> PortRecord:
    return PortRecord.model_construct(
        name="input_0",
        shape=shape,
        dim_order=tuple(range(len(shape))),
        layout="contiguous",
        dtype=dtype,
        quantization=scheme,
        place=PlaceRecord(base="arena", offset=0, bytes=0),
        exact=True,
    )


def test_random_samples_fill_the_quantised_range_and_repeat() -> None:
    first, second = ([s[0] for s in islice(random_samples([port()], 1), 1000)] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    values = np.stack(first)
    assert values.dtype == np.float32
    assert set(np.unique(values * 2 - 3)) == set(range(-128, 128))
    assert not np.array_equal(next(random_samples([port()], 2))[0], first[0])


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "float64"])
def test_random_samples_of_other_types(dtype: str) -> None:
    (sample,) = next(random_samples([port(dtype, scheme=None)], 0))
    assert (sample.dtype.name, sample.shape) == (dtype, (1, 2, 3))


def test_exported_samples_come_first_then_random_ones_without_label() -> None:
    exported = Samples((np.ones((2, 1, 2, 3), np.float32),), np.array([7, 9]))
    samples = exported_samples(exported, [port()], 3, seed=5)
    assert samples.inputs[0].shape == (3, 1, 2, 3)
    np.testing.assert_array_equal(samples.inputs[0][:2], exported.inputs[0])
    np.testing.assert_array_equal(samples.inputs[0][2], next(random_samples([port()], 5))[0])
    assert samples.labels is not None
    assert samples.labels.tolist() == [7, 9, -1]
    assert exported_samples(exported, [port()], 1, seed=5).labels.tolist() == [7]  # type: ignore[union-attr]


def test_exported_floats_are_quantised_for_a_quantised_input() -> None:
    values = np.array([[[0.0, 0.25, 0.75], [1.0, 1000.0, -1000.0]]], np.float32)
    samples = exported_samples(Samples((values[np.newaxis],)), [port("int8")], 1, seed=0)
    # Halves go to even: 0.25 / 0.5 is 0.5, 0.75 / 0.5 is 1.5.
    assert samples.inputs[0].tolist() == [[[[-3, -3, -1], [-1, 127, -128]]]]


@pytest.mark.parametrize(
    ("shape", "count"), [((1, 2, 3), 1), ((4, 1, 2, 3), 4), ((1, 1, 2, 3), 1), ((4, 2, 3), 4)]
)
def test_file_holds_one_sample_or_several(
    tmp_path: Path, shape: tuple[int, ...], count: int
) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "x.npy", values)
    samples = user_samples([tmp_path / "x.npy"], [port()], None)
    assert samples.inputs[0].shape == (count, 1, 2, 3)
    np.testing.assert_array_equal(samples.inputs[0].ravel(), values.ravel())


@pytest.mark.parametrize("shape", [(2, 3), (1, 3, 2), (0, 1, 2, 3), (4, 3, 2), (2, 2, 2, 3), ()])
def test_file_of_another_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "x.npy", np.zeros(shape, np.float32))
    with pytest.raises(UsageError, match=r"x.npy holds float32 .*, input_0 takes float32 1×2×3"):
        user_samples([tmp_path / "x.npy"], [port()], None)


@pytest.mark.parametrize(
    ("names", "order"), [(("b", "a"), (0, 1)), (("input_1", "input_0"), (1, 0))]
)
def test_arrays_of_a_file_are_inputs_in_their_order(
    tmp_path: Path, names: tuple[str, ...], order: tuple[int, ...]
) -> None:
    arrays = {name: np.full((2, 1, 2, 3), n, np.float32) for n, name in enumerate(names)}
    np.savez(tmp_path / "x.npz", labels=np.array([7, 8]), **arrays)
    samples = user_samples([tmp_path / "x.npz"], [port(), port()], None)
    assert tuple(stack[0, 0, 0, 0] for stack in samples.inputs) == order
    assert samples.labels is not None
    assert samples.labels.tolist() == [7, 8]


def test_a_file_without_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", labels=np.zeros(2))
    with pytest.raises(UsageError, match=r"x.npz holds no inputs by name: input_0, …"):
        user_samples([tmp_path / "x.npz"], [port()], None)


def test_files_with_unequal_numbers_of_samples(tmp_path: Path) -> None:
    for name, count in (("x", 2), ("y", 3)):
        np.save(tmp_path / f"{name}.npy", np.zeros((count, 1, 2, 3), np.float32))
    files = [tmp_path / "x.npy", tmp_path / "y.npy"]
    with pytest.raises(UsageError, match=r"differ in the number of samples: .*x.npy 2, .*y.npy 3"):
        user_samples(files, [port(), port()], None)


def test_picture(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")
    image.new("RGB", (20, 10), (255, 0, 51)).save(tmp_path / "x.png")
    taken = ImageInput(height=2, width=2, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    samples = user_samples([tmp_path / "x.png"], [port(shape=(1, 3, 2, 2))], taken)
    np.testing.assert_allclose(samples.inputs[0][0, 0, :, 0, 0], [1.0, 0.0, 0.2])
