"""What users' functions may yield, and the one line for what they may not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cmbuild.datasets.function import labelled, main
from cmbuild.errors import UsageError
from cmcompiler.errors import InvalidRequest

FILE = """
import numpy as np
from beside import OFFSET

def samples():
    for number in range(5):
        yield np.full((1, 2), number + OFFSET, np.int8), number

class Pairs:
    def __len__(self):
        return 3
    def __getitem__(self, index):
        if index == 3:
            raise IndexError
        return (([1.5, 2], np.ones(3, np.float32)), np.int64(index))

pairs = Pairs()
several = [(1, 2, 3)]
words = [("a", 1)]
names = [(1, "cat")]
plain = [7]
number = 7

def fails():
    yield [1.0], 0
    raise ValueError("no more")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("OFFSET = 10\n")
    (tmp_path / "data.py").write_text(FILE)
    return tmp_path / "data.py"


def test_functions_and_data_sets(file: Path) -> None:
    rows = list(labelled(file, "samples"))
    assert [(int(inputs[0][0, 0]), label) for inputs, label in rows] == [
        (10 + number, number) for number in range(5)
    ]
    first, second = next(iter(labelled(file, "pairs")))[0]
    assert (first.dtype, second.dtype, first.tolist()) == (np.float32, np.float32, [1.5, 2])
    assert [label for _, label in labelled(file, "pairs")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sample", r"data\.py does not define sample"),
        ("number", r"data\.py:number is not a function"),
        ("several", "yields 3 values, not an input and its label"),
        ("plain", "yields int, not an input and its label"),
        ("words", "yields inputs that are not numbers"),
        ("names", "yields the label 'cat', which is not a number"),
    ],
)
def test_others_are_one_line(name: str, message: str, file: Path) -> None:
    with pytest.raises(UsageError, match=message):
        list(labelled(file, name))


def test_an_exception_has_its_line(file: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"data\.py:26: ValueError: no more"):
        list(labelled(file, "fails"))


def test_the_answer_is_one_object(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = file.parent / "chunks"
    assert main([str(file), "samples", str(folder), "2", "3"]) == 0
    assert json.loads(capfd.readouterr().out) == {"count": 3}
    assert [path.name for path in sorted(folder.glob("*.npz"))] == ["000000.npz", "000001.npz"]
