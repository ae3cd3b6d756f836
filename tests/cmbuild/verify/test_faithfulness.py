"""What a run says of the layers that its export compared."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cmbuild.accuracy import Faithfulness
from cmbuild.verify.faithfulness import faithfulness, unnamed_loss
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.fidelity.record import (
    FlippedDecisions,
    LayerError,
    LayerResolution,
    ProgramFidelity,
    RewritingError,
    StalledState,
)

FINE = LayerError("conv2d", 0.5, 0.56, 0.0, None, 0.0, 1.0, 1.0)
WRONG = LayerError("fill", 128.0, 0.56, 0.0, -3.0, 0.0, 0.7263, 0.0)
OFFSET = LayerError("fill", 0.5, 0.56, -0.47, 30.0, 0.0, 1.0, 1.1)


def of(*layers: LayerError) -> Faithfulness:
    return faithfulness(record(ProgramFidelity(layers)))


def record(fidelity: ProgramFidelity) -> SimpleNamespace:
    sites = {
        "softmax": CallSite("softmax", "attend", "/home/me/net.py", 7),
        "conv2d": CallSite("conv2d", "blocks.0", None, None),
        "fill": CallSite("fill", "", "/home/me/net.py", 21),
    }
    return SimpleNamespace(fidelity=fidelity, call_sites=sites)


def test_a_layer_is_named_by_its_module_and_line() -> None:
    check = of(FINE)
    assert (check.faithful, check.faults) == (True, ())
    assert (check.layers[0].name, check.layers[0].snr_db) == ("conv2d (blocks.0)", math.inf)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (
            WRONG,
            "fill at net.py:21 has 0.726 where the model has 0: 128 steps off, 0.56 are allowed",
        ),
        (OFFSET, "fill at net.py:21 has 1 where the model has 1.1: -0.47 steps off on average"),
    ],
)
def test_a_fault_has_an_example(layer: LayerError, words: str) -> None:
    check = of(FINE, layer)
    assert (check.faithful, check.faults) == (False, (words,))


def test_rewrites_that_change_an_output_are_a_fault() -> None:
    rewritten = RewritingError(output=1, error=0.02, made=0.5, exact=0.25)
    check = faithfulness(record(ProgramFidelity((FINE,), rewritten=rewritten)))
    assert check.faithful is False
    assert check.faults == (
        "the rewritten graph has 0.5 at output 1 where the model has 0.25: 0.02 of its largest "
        "number off",
    )
    reshaped = RewritingError(0, 1e9, 0.0, 0.0, shapes=((1, 3), (1,)))
    check = faithfulness(record(ProgramFidelity((FINE,), rewritten=reshaped)))
    assert check.faults == ("the rewritten graph has 1×3 at output 0 where the model has 1",)


def test_what_keeps_little_is_a_warning_with_its_cause() -> None:
    softmax = LayerResolution("softmax", 2.3, 10_000.0, 255, is_operand=True)
    others = [LayerResolution("conv2d", 19.0, 3.0, 255, is_operand=False)] * 4
    fine = LayerResolution("fill", 20.1, 3.0, 255, is_operand=False)
    stalled = StalledState("fill", 0.971)
    clipped = replace(FINE, node="add", clipped=0.25), replace(FINE, clipped=0.5)
    check = faithfulness(
        record(ProgramFidelity(clipped, resolutions=(softmax, *others, fine), stalled=(stalled,)))
    )
    assert check.faithful
    first, second, *_, more, stall, beyond = check.warnings
    assert first == (
        "softmax (attend) at net.py:7 keeps 2 dB: its logits span 10,000 in 255 steps; scale or "
        "clamp before it, or --activations int16"
    )
    assert second.startswith("conv2d (blocks.0) keeps 19 dB: its result spans 3 in 255 steps")
    assert more == "2 more layers keep less than 20 dB: --json has them"
    assert stall.startswith("fill at net.py:21 loses 97.1 % of the updates of its state")
    assert beyond.startswith("25.0 % of add is outside of the calibrated range")
    worst = check.coarse[0]
    assert (worst.name, worst.line, round(worst.snr_db, 2)) == ("fill", 21, 0.26)
    assert worst.cause == "its updates are finer than a step, and 97.1 % of them are lost"
    second_worst = check.coarse[1]
    assert (second_worst.file, second_worst.line) == ("/home/me/net.py", 7)
    assert [each.snr_db for each in check.coarse[1:]] == [2.3, *[19.0] * 4, 20.1]


def test_decisions_that_are_not_the_models_are_a_warning() -> None:
    flipped = FlippedDecisions("fill", 0.0156), FlippedDecisions("conv2d", 0.001)
    check = faithfulness(record(ProgramFidelity((FINE,), flipped=flipped)))
    assert check.faithful
    (told,) = check.warnings
    assert told == (
        "fill at net.py:21 decides otherwise than the model for 1.6 % of its numbers: rounding "
        "takes them across a threshold; keep numbers away from it, or try --activations int16"
    )


def test_a_loss_that_no_layer_has_alone_names_the_worst() -> None:
    coarse = LayerResolution("softmax", 24.4, 140.0, 255, is_operand=True)
    check = faithfulness(record(ProgramFidelity((FINE,), resolutions=(coarse,))))
    low, high = (SimpleNamespace(worst=SimpleNamespace(snr_db=db)) for db in (18.3, 20.1))
    (line,) = unnamed_loss(low, check)
    assert "softmax (attend) at net.py:7 keeps least, 24 dB" in line
    assert not list(unnamed_loss(high, check))
    assert not list(unnamed_loss(None, check))
    named = replace(check, warnings=("softmax keeps 2 dB",))
    assert not list(unnamed_loss(low, named))


def test_of_nodes_of_one_call_the_worst_counts() -> None:
    nodes = [LayerResolution("conv2d", snr, 3.0, 255, is_operand=False) for snr in (9.0, 40.0)]
    check = faithfulness(record(ProgramFidelity((FINE,), resolutions=tuple(nodes))))
    assert check.layers[0].resolution_db == 9.0


def test_a_program_alone_is_not_compared() -> None:
    check = faithfulness(None)
    assert check.faithful is None
    assert "no float model" in str(check.reason)
