"""The class of a sample is its folder's: one of the model's, a number, or its place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from cmbuild.datasets.class_folders import ClassFolders
from cmbuild.errors import UsageError
from cmcompiler.frontend.images import ImageInput


def folders(root: Path, *names: str, files: int = 3) -> Path:
    for name in names:
        (root / name).mkdir(parents=True)
        for number in range(files):
            np.save(root / name / f"{number}.npy", np.zeros(1))
    return root


@pytest.mark.parametrize(
    ("names", "classes", "labels"),
    [
        (("dog", "cat"), ("mouse", "Cat", "dog"), {"cat": 1, "dog": 2}),
        (("dog", "cat"), (), {"cat": 0, "dog": 1}),
        (("10", "2"), (), {"2": 2, "10": 10}),
        (("1", "0"), ("no", "yes"), {"0": 0, "1": 1}),
        (("7",), tuple("9876543210"), {"7": 2}),
    ],
)
def test_labels(
    names: tuple[str, ...], classes: tuple[str, ...], labels: dict[str, int], tmp_path: Path
) -> None:
    class_folders = ClassFolders.find(folders(tmp_path / "data", *names), classes)
    assert {folder.name: label for folder, label in class_folders.labels.items()} == labels


def test_the_first_files_are_a_fair_sample(tmp_path: Path) -> None:
    root = folders(tmp_path / "data", "a", "b", files=50)
    (root / ".cache").mkdir()
    (root / "a" / ".DS_Store").touch()
    classes = ClassFolders.find(root, ())
    assert len(set(classes.files)) == len(classes.files) == 100
    assert 5 < sum(file.parent.name == "a" for file in classes.files[:20]) < 15
    assert ClassFolders.find(root, ()).files == classes.files


def test_what_is_not_a_data_set(tmp_path: Path) -> None:
    def refused(root: Path, match: str, *classes: str) -> Any:
        with pytest.raises(UsageError, match=match) as error:
            ClassFolders.find(root, classes)
        return error.value.hint

    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "empty has no folders of classes")
    refused(folders(tmp_path / "bare", "a", files=0), "the folders in .*bare hold no files")
    hint = refused(folders(tmp_path / "odd", "cat", "cow"), "cow is not a class", "cat", "dog")
    assert "cat, dog" in hint


def test_files_are_samples(tmp_path: Path) -> None:
    for name, shade in (("dark", 0), ("light", 255)):
        (tmp_path / name).mkdir()
        Image.new("L", (16, 16), shade).save(tmp_path / name / "one.png")
        array = np.full((2, 1, 8, 8), shade / 255, np.float32)
        np.save(tmp_path / name / "two.npy", array)
    port: Any = SimpleNamespace(
        name="input_0", dtype="float32", shape=(1, 1, 8, 8), quantization=None
    )
    image = ImageInput(height=8, width=8, mean=(0.0,), std=(1.0,))
    classes = list(ClassFolders.find(tmp_path, ()).samples(port, image))
    assert sorted(label for _, label in classes) == [0, 0, 0, 1, 1, 1]
    assert all(np.all(inputs[0] == label) for inputs, label in classes)
    with pytest.raises(UsageError, match=r"one\.png is not a .npy or .pt file"):
        list(ClassFolders.find(tmp_path, ()).samples(port, None))
