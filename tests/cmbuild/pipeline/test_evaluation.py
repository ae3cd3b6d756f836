"""What an evaluation runs where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cmbuild.accuracy import CoarseLayer, EvalResult, EvalRow, Faithfulness
from cmbuild.errors import UsageError
from cmbuild.pipeline.evaluation import EvalRequest, failure_of
from cmbuild.pipeline.options import compose
from cmbuild.verify.faithfulness import NotFaithful
from cmcompiler.frontend.sample_origin import SampleOrigin


def test_a_program_has_no_float_model() -> None:
    with pytest.raises(UsageError, match=r"kws\.pte is a program, without a float model"):
        compose(EvalRequest, model="kws.pte")


def test_a_comparison_fails_where_the_program_is_not_the_model_or_keeps_too_little() -> None:
    layer = CoarseLayer(
        name="mul", file="net.py", line=3, snr_db=9.0, cause="its result spans 9", remedy="clamp it"
    )
    check = Faithfulness(faithful=True, coarse=(layer,))
    reference = EvalRow(form="reference", accuracy=None, snr_db=30.0, agreement=None)
    result = EvalResult(
        model="net",
        board=None,
        samples=1,
        inputs=SampleOrigin.SAMPLES,
        detail="",
        sequence=None,
        forms=(reference,),
        layers=(),
        warnings=(),
        faithfulness=check,
    )
    enough = compose(EvalRequest, model="digits", min_snr=8)
    wanted = compose(EvalRequest, model="digits", min_snr=10)
    assert failure_of(result, enough) is None
    failure = failure_of(result, wanted)
    assert failure is not None
    assert failure.message == "mul at net.py:3 keeps 9 dB, below --min-snr 10: its result spans 9"
    wrong = replace(check, faithful=False, faults=("mul is 3 steps off",))
    failure = failure_of(replace(result, faithfulness=wrong), wanted)
    assert isinstance(failure, NotFaithful)
    assert failure_of(replace(result, faithfulness=None), wanted) is None


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
