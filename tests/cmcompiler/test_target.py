from __future__ import annotations

import pytest

from cmcompiler.errors import InvalidRequest
from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA, Target


def test_a_target_has_the_best_isa_of_its_cpu():
    assert Target.parse("cortex-m0plus").isa is Isa.SCALAR
    assert Target.parse("cortex-m4").isa is Isa.DSP
    assert Target.parse("cortex-m55").isa is Isa.MVE


def test_the_isa_can_be_lowered_but_not_raised():
    lowered = Target.parse("cortex-m55", "dsp")
    assert lowered == Target("cortex-m55", Isa.DSP)
    assert str(lowered) == "cortex-m55 dsp"
    with pytest.raises(InvalidRequest, match="cortex-m33 does not support mve") as caught:
        Target.parse("cortex-m33", "mve")
    assert caught.value.hint == "it has scalar, dsp"


@pytest.mark.parametrize(
    ("cpu", "isa", "message", "hint"),
    [
        ("cortexm55", None, "unknown target cortexm55", "did you mean cortex-m55?"),
        ("cortex-m55", "mvve", "unknown instruction set mvve", "did you mean mve?"),
        ("x86", None, "unknown target x86", "known: cortex-m0, cortex-m0plus, cortex-m23,"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(cpu, isa, message, hint):
    with pytest.raises(InvalidRequest) as caught:
        Target.parse(cpu, isa)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("cpu", BEST_ISA)
def test_upstream_knows_every_cpu_with_the_same_best_isa(cpu):
    from executorch.backends.cortex_m.target_config import CortexMTargetConfig

    target = Target.parse(cpu)
    upstream = CortexMTargetConfig.from_target_string(target.exported_as)
    assert upstream.backend.name == target.isa.name


def test_every_cpu_of_upstream_is_a_target():
    from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig

    assert {CortexMTargetConfig(cpu).target_string for cpu in CortexM} <= set(BEST_ISA)
