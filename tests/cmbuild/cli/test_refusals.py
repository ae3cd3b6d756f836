"""Models that cannot be built are refused with the user's own file and line, and the reason."""

from __future__ import annotations

import numpy as np
import pytest
from harness.commands import Commands, Result
from harness.sources import ROOT

MODEL = """\
import math

import torch
from torch import nn


class Products(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.cdist(y, y, p=3.5)  # no kernel


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, x):
        return self.linear(x)  # shapes


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, tokens):
        return self.table(tokens)  # tokens


class Logarithms(nn.Module):
    def forward(self, x):
        return torch.log(x - 2).relu()  # nan


def words():
    return Words(), torch.ones(1, 3, dtype=torch.int64)


def logarithms():
    return Logarithms(), torch.rand(1, 8)


def products():
    return Products(), torch.rand(1, 8)


def wrong():
    return Wrong(), torch.rand(1, 8)


def make():
    return nn.Linear(8, 4), torch.rand(1, 8)


def failing():
    from executorch.backends.cortex_m.passes.aten_to_cortex_m_pass import AtenToCortexMPass

    AtenToCortexMPass.call = math.sqrt  # has no line of its own
    return make()
"""

WRONG = (
    "module linear: Linear(in_features=5, out_features=3, bias=True) takes 5 features, got 8 "
    "(float32 1×8)"
)


def line(comment: str) -> int:
    (actual,) = (n for n, text in enumerate(MODEL.splitlines(), 1) if text.endswith(comment))
    return actual


def refused(cmbuild: Commands, name: str, *options: str) -> Result:
    (cmbuild.folder / "net.py").write_text(MODEL)
    result = cmbuild("build", f"net.py:{name}", "--board", "native", *options)
    assert "Traceback" not in result.stderr
    return result


def told(result: Result) -> list[str]:
    """The error and its hint, which hold no path of the compiler or the machine."""
    lines = result.stderr.splitlines()
    (start,) = (n for n, text in enumerate(lines) if text.startswith("error: "))
    for path in (ROOT, "site-packages", "ops/", ".cache"):
        assert str(path) not in "\n".join(lines[start:])
    return lines[start:]


def test_an_operator_without_a_kernel(cmbuild: Commands) -> None:
    result = refused(cmbuild, "products")
    assert result.exit_code == 1
    error, hint = told(result)
    assert error.startswith(
        f"error: net.py:{line('# no kernel')}: no kernel for 1 operator: aten::"
    )
    assert "cdist" in error
    assert hint.endswith("docs/adding-an-op.md")


def test_a_shape_error_in_forward(cmbuild: Commands) -> None:
    result = refused(cmbuild, "wrong")
    assert result.exit_code == 1
    place = f"net.py:{line('# shapes')}"
    assert told(result) == [f"error: {place}: {WRONG}", "  try: in_features=8 takes that"]


@pytest.mark.long
def test_a_failed_pass_of_the_backend(cmbuild: Commands) -> None:
    result = refused(cmbuild, "failing")
    assert result.exit_code == 1
    error, *_ = told(result)
    reason = "TypeError in AtenToCortexMPass: must be real number, not GraphModule"
    assert error == f"error: ExecuTorch's Cortex-M backend cannot take this model: {reason}"


def test_a_misspelt_callable(cmbuild: Commands) -> None:
    result = refused(cmbuild, "mak", "--verbose")
    assert (result.exit_code, result.stdout) == (2, ""), "before anything is started"
    made = "words, logarithms, products, wrong, make, failing"
    assert told(result) == [
        f"error: net.py does not define mak; it defines {made}",
        "  try: name the callable: net.py:make",
    ]


@pytest.mark.long
def test_tokens_outside_of_their_table_are_refused_by_line(cmbuild: Commands) -> None:
    place = f"error: net.py:{line('# tokens')}: "
    np.save(cmbuild.folder / "calibration.npy", np.full((8, 1, 3), 12))
    result = refused(cmbuild, "words", "--calibration", "calibration.npy")
    assert result.exit_code == 2
    assert told(result)[0].startswith(
        f"{place}calibration sample 1: IndexError: index out of range"
    )
    np.save(cmbuild.folder / "tokens.npy", np.array([[1, 12, 3]]))
    result = cmbuild("run", "net.py:words", "--board", "native", "--input", "tokens.npy")
    assert result.exit_code == 2
    reason = "sample 1: index 12 is outside of 0 to 9, at aten::embedding.out #0"
    assert told(result)[0] == f"{place}{reason}"


@pytest.mark.long
def test_results_that_are_nan_are_refused_by_line(cmbuild: Commands) -> None:
    result = refused(cmbuild, "logarithms")
    assert result.exit_code == 2
    assert told(result)[0] == (
        f"error: net.py:{line('# nan')}: sub → log → relu gives NaN for calibration sample 1"
    )
