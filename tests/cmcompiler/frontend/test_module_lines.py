"""Modules have the lines of the user's file that make them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.module_lines import ModuleLines
from cmcompiler.frontend.source import find_source

FILE = """
from torch import nn
import torch


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 3)  # line 9

    def forward(self, x):
        return self.layer(x)


def sequence():
    layers = [
        nn.Linear(4, 6),
        nn.Linear(5, 3),  # line 18
    ]
    return nn.Sequential(*layers), torch.rand(1, 4)


def copied_part():
    layer = nn.TransformerEncoderLayer(6, 2, batch_first=True)
    return nn.TransformerEncoder(layer, 1), torch.rand(1, 3, 4)  # line 25


def called():
    return Block(5), torch.rand(1, 4)  # whose line 12 calls the layer


whole = nn.Linear(5, 3), torch.rand(1, 4)  # line 32
"""


@pytest.mark.parametrize(
    ("name", "line"), [("sequence", 18), ("copied_part", 25), ("called", 12), ("whole", 32)]
)
def test_what_a_part_cannot_take_is_told_with_its_line(tmp_path, name, line):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    with pytest.raises(Unsupported, match=r"takes [56] features, got [46]") as caught:
        find_source(f"{path}:{name}").load(0)
    assert caught.value.message.startswith(f"{path}:{line}: ")


def test_a_class_is_made_where_it_is_called():
    lines = ModuleLines()

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

    with lines.watching():
        made = nn.Sequential(Block(), Block())
    kept = lines.of(made)
    assert kept["0"] == kept["1"] != kept["0.layer"] == kept["1.layer"]
    assert lines.of(copy.deepcopy(made)) == {}
    assert lines.of(nn.Linear(2, 2)) == {}
    assert torch.nn.Module.__init__ is nn.Module.__init__
