"""The compiler's own operators in torch: declared once, where programs are read."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.decode.registry import operators
from cmcompiler.frontend import own_operators
from cmcompiler.frontend.operators import define

define()
OWN = [name for name in operators() if name.startswith("cmbuild::")]


def test_torch_has_every_one_that_programs_may_have() -> None:
    assert len(OWN) > 20
    for name in OWN:
        stem, _, overload = name.removeprefix("cmbuild::").partition(".")
        packet = getattr(torch.ops.cmbuild, stem)
        schema = operators()[name].schema
        assert [a.name for a in getattr(packet, overload)._schema.arguments] == list(schema.names)
        inputs = [argument.name for argument in packet.default._schema.arguments]
        assert inputs == [each for each in schema.names if each not in schema.results]
        assert len(packet.default._schema.returns) == len(schema.results)


def test_one_that_no_program_has_is_refused() -> None:
    with pytest.raises(KeyError, match="unknown"):
        own_operators.declare(None, "unknown")
