"""The float module on samples that its export does not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.float_model import FloatJob, FloatSamples, compute, float_outputs
from cmcompiler.frontend.job import ExportJob
from cmcompiler.frontend.vectors import Samples

NET = """
import torch


class Running(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 2))
        self.dropout = torch.nn.Dropout()

    def forward(self, x):
        if x.max() > 100:
            raise ValueError("too large")
        self.total += self.dropout(x)
        return {"sum": self.total, "last": x * 2}


def model():
    return Running(), torch.ones(1, 2)
"""


@pytest.fixture
def job(tmp_path: Path) -> FloatJob:
    (tmp_path / "net.py").write_text(NET)
    inputs = np.arange(8, dtype=np.float32).reshape(4, 1, 2)
    Samples((inputs,)).save(tmp_path / "given.npz")
    return FloatJob(
        export=ExportJob(model=str(tmp_path / "net.py"), output=Path()),
        parts=(FloatSamples(file=tmp_path / "given.npz", count=4),),
        schemes=(None,),
        output=tmp_path / "out",
    )


def test_parts_and_resets_begin_in_the_initial_state(job: FloatJob, tmp_path: Path) -> None:
    compute(job)
    total, last = float_outputs(job.output, 0)
    assert total[:, 0].tolist() == [[0, 1], [2, 4], [6, 9], [12, 16]]
    assert last.shape == (4, 1, 2)
    (part,) = job.parts
    halves = tuple(part.model_copy(update={"first": first, "count": 2}) for first in (0, 2))
    compute(job.model_copy(update={"parts": halves}))
    sums = [float_outputs(job.output, index)[0][:, 0].tolist() for index in (0, 1)]
    assert sums == [[[0, 1], [2, 4]], [[4, 5], [10, 12]]]
    compute(job.model_copy(update={"reset": True}))
    assert float_outputs(job.output, 0)[0][:, 0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_quantised_samples_are_scaled_back_and_a_batch_is_samples(
    job: FloatJob, tmp_path: Path
) -> None:
    Samples((np.array([[2, 4], [6, 8]], np.int8),)).save(tmp_path / "given.npz")
    part = FloatSamples(file=tmp_path / "given.npz", count=2)
    compute(job.model_copy(update={"parts": (part,), "schemes": ((0.5, 2),)}))
    assert float_outputs(job.output, 0)[1].tolist() == [[[0, 2]], [[4, 6]]]


def test_a_sample_that_the_module_refuses_is_named(job: FloatJob, tmp_path: Path) -> None:
    inputs = np.array([[[1, 2]], [[1000, 2]]], np.float32)
    Samples((inputs,)).save(tmp_path / "given.npz")
    part = FloatSamples(file=tmp_path / "given.npz", count=2)
    with pytest.raises(InvalidRequest, match="sample 2: ValueError: too large"):
        compute(job.model_copy(update={"parts": (part,)}))


def test_nothing_heavier_than_torch_is_imported() -> None:
    code = (
        "import sys, cmcompiler.__main__; assert 'torch' not in sys.modules\n"
        "import torch, cmcompiler.frontend.float_model as real\n"
        "real.float_module(torch.nn.ReLU())\n"
        "assert not {'torchao', 'executorch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
