"""Samples to run a program on: the user's files, exported ones, or seeded random ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmbuild.errors import UsageError
from cmbuild.files import check_input
from cmbuild.text import plural, shape
from cmbuild.verify.torch_file import read_tensor
from cmcompiler.arrays import Header, read_arrays
from cmcompiler.frontend.vectors import Samples, input_names

if TYPE_CHECKING:
    from cmcompiler.frontend.images import ImageInput
    from cmcompiler.plan.record import PortRecord

Array = npt.NDArray[Any]


def user_samples(
    files: Sequence[Path], ports: Sequence[PortRecord], image: ImageInput | None
) -> Samples:
    """The samples of `given_samples` as the program takes them."""
    return as_taken(given_samples(files, ports, image), ports)


def as_taken(samples: Samples, ports: Sequence[PortRecord]) -> Samples:
    """Samples with inputs in float quantised where the program's are."""
    stacks = tuple(map(quantized, samples.inputs, ports))
    return Samples(stacks, samples.labels)


def given_samples(
    files: Sequence[Path], ports: Sequence[PortRecord], image: ImageInput | None
) -> Samples:
    """The samples in the user's files: one file per input, or one .npz with samples and labels
    as an export writes it.

    A file holds one sample of its input's shape, or several: stacked along a new first axis, or
    side by side in a batch of more than one where the input is a batch of one.

    Args:
        image: what a picture means to the model, if it takes any.

    Raises:
        UsageError, CompilerError: too many or too few files, or one that is unreadable or does
            not have its input's shape and dtype.
    """
    if len(files) == 1 and files[0].suffix == ".npz":
        return _saved(files[0], ports)
    if len(files) != len(ports):
        wanted = ", ".join(f"{port.name} {_describe(port.dtype, port.shape)}" for port in ports)
        raise UsageError(
            message=f"{plural(len(files), 'input')} given, the model takes {len(ports)}",
            hint=f"--input once for each of {wanted}",
        )
    stacks = [
        _stacked(_read(file, port, image), port, file)
        for file, port in zip(files, ports, strict=True)
    ]
    if len({len(stack) for stack in stacks}) != 1:
        counts = ", ".join(
            f"{file} {len(stack)}" for file, stack in zip(files, stacks, strict=True)
        )
        raise UsageError(message=f"the inputs differ in the number of samples: {counts}")
    return Samples(tuple(stacks))


def _saved(file: Path, ports: Sequence[PortRecord]) -> Samples:
    check_input(file)
    return load_samples(file, ports, file)


def load_samples(file: Path, ports: Sequence[PortRecord], place: Path | str) -> Samples:
    """Samples of a file that `Samples.save` could have written, as a program takes them.

    Args:
        place: how errors call the file.

    Raises:
        UsageError, CompilerError: as user_samples, before more than the headers are read.
    """

    def accept(headers: Mapping[str, Header]) -> None:
        names = input_names(headers)
        if ports and not any(names):
            raise UsageError(message=f"{place} holds no inputs by name: input_0, …")
        _check_count(len(names), ports, place)
        for name, port in zip(names, ports, strict=True):
            _fitting(headers[name], port, place)

    return conformed(Samples.load(file, accept), ports, place)


def conformed(saved: Samples, ports: Sequence[PortRecord], file: Path | str) -> Samples:
    """Samples stacked as a program's inputs are; raises as `given_samples`, naming the file."""
    _check_count(len(saved.inputs), ports, file)
    stacks = (_stacked(a, port, file) for a, port in zip(saved.inputs, ports, strict=True))
    return Samples(tuple(stacks), saved.labels)


def _check_count(count: int, ports: Sequence[PortRecord], file: Path | str) -> None:
    if count != len(ports):
        held = plural(count, "input")
        raise UsageError(message=f"{file} holds {held}, the model takes {len(ports)}")


def exported_samples(
    exported: Samples | None, ports: Sequence[PortRecord], count: int, seed: int
) -> Samples:
    """The first `count` samples of an export, followed by random ones where it has fewer.

    Labels are those of the exported samples, and -1 for the others.
    """
    wanted = [tuple(map(quantized, sample, ports)) for sample in islice(exported or (), count)]
    labels = None
    if exported is not None and exported.labels is not None:
        labels = np.full(count, -1)
        labels[: len(wanted)] = exported.labels[: len(wanted)]
    wanted += islice(random_samples(ports, seed), count - len(wanted))
    stacked = Samples.stack(wanted)
    return Samples(stacked.inputs, labels)


def random_samples(ports: Sequence[PortRecord], seed: int) -> Iterator[tuple[Array, ...]]:
    """Endless samples, uniform over the range of the quantised inputs.

    Each depends only on the seed and its number.
    """
    index = 0
    while True:
        random = np.random.default_rng((seed, index))
        yield tuple(_random(random, port) for port in ports)
        index += 1


def quantized(array: Array, port: PortRecord) -> Array:
    """A float array as a quantised input holds it; others as they are."""
    scheme = port.quantization
    if array.dtype != np.float32 or port.dtype == "float32" or scheme is None:
        return array
    from cmcompiler.ops.quantize import Quantize

    dtype = np.dtype(port.dtype)
    op = Quantize(dtype, scheme.scale, scheme.zero_point, scheme.minimum, scheme.maximum)
    return op.reference(array)[0]


def _random(random: np.random.Generator, port: PortRecord) -> Array:
    dtype, scheme = np.dtype(port.dtype), port.quantization
    if scheme is not None:
        steps = random.integers(scheme.minimum, scheme.maximum, port.shape, endpoint=True)
        if dtype.kind == "f":
            return ((steps - scheme.zero_point) * scheme.scale).astype(dtype)
        return steps.astype(dtype)
    if dtype.kind == "f":
        return random.standard_normal(port.shape).astype(dtype)
    return random.integers(0, 2, port.shape).astype(dtype)


def read_input(file: Path, port: PortRecord, image: ImageInput | None) -> Array:
    """The samples of a model's only input in a file, as the program takes them; raises as
    `given_samples`."""
    return quantized(_stacked(_read(file, port, image), port, file), port)


def _read(file: Path, port: PortRecord, image: ImageInput | None) -> Array:
    check_input(file)

    def accept(headers: Mapping[str, Header]) -> None:
        if (header := headers.get("")) is not None:
            _fitting(header, port, file)

    if file.suffix == ".pt":
        return read_tensor(file, accept)
    if file.suffix == ".npy":
        arrays = read_arrays(file, accept)
        if list(arrays) == [""]:
            return arrays[""]
    elif image is not None:
        return image.read(file)
    raise UsageError(
        message=f"{file} is not a .npy or .pt file, and the model does not take images"
    )


def _stacked(array: Array, port: PortRecord, file: Path | str) -> Array:
    return array.reshape(_fitting(Header(array.dtype, array.shape), port, file))


def _fitting(header: Header, port: PortRecord, file: Path | str) -> tuple[int, ...]:
    """The shape of the samples in an array, one or several; raises UsageError if it has none."""
    dtype, sizes = header
    single = port.shape[:1] == (1,) and len(sizes) == len(port.shape)
    stacked = None
    if sizes == port.shape:
        stacked = (1, *sizes)
    elif sizes[1:] == port.shape:
        stacked = sizes
    elif single and sizes[1:] == port.shape[1:]:
        stacked = (sizes[0], *port.shape)
    is_taken = dtype == port.dtype or (dtype == np.float32 and port.quantization is not None)
    if not is_taken or stacked is None or stacked[0] == 0:
        given, taken = _describe(dtype.name, sizes), _describe(port.dtype, port.shape)
        raise UsageError(message=f"{file} holds {given}, {port.name} takes {taken}")
    return stacked


def _describe(dtype: str, sizes: Sequence[int]) -> str:
    return f"{dtype} {shape(sizes)}"
