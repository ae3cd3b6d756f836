"""What an evaluation runs where."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.errors import UsageError
from cmbuild.pipeline.evaluation import EvalRequest
from cmbuild.pipeline.options import compose


def test_a_program_has_no_float_model() -> None:
    with pytest.raises(UsageError, match=r"kws\.pte is a program, without a float model"):
        compose(EvalRequest, model="kws.pte")


def test_the_device_runs_the_same_model_on_as_many_samples() -> None:
    request = compose(
        EvalRequest,
        model="digits",
        seed=3,
        board="corstone300",
        isa="scalar",
        build_dir=Path("somewhere"),
    )
    run = request.run(17)
    assert run.build.source is request.source
    assert (run.build.place.name, run.sampling.samples) == ("corstone300.scalar", 17)
    assert run.build.build_dir == Path("somewhere")
    assert request.folder.is_relative_to(Path("somewhere").absolute())
