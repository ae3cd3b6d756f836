"""The registration of operators, by ExecuTorch's real code generator on a stand-in checkout."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from harness.checkout import make_checkout
from harness.upstream import C10, INCLUDE

from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import NoKernel, assign
from cmbuild.executorch.registration import generate, generated
from cmbuild.process import Processes

OPERATORS = (
    "aten::add.out",
    "aten::permute_copy.out",
    "cortex_m::quantized_conv2d.out",
    "cortex_m::softmax.out",
    "dim_order_ops::_clone_dim_order.out",
    "executorch_prim::et_view.default",
    "quantized_decomposed::quantize_per_tensor.out",
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(make_checkout(tmp_path_factory.mktemp("checkout")), "1.5.1", None)


def test_just_the_operators_of_a_program_are_registered(checkout: Checkout, tmp_path: Path) -> None:
    families = assign(checkout.root, OPERATORS)
    assert {family.name for family in families} == {"cortex_m", "portable", "quantized"}
    generate(checkout, families, Processes(), tmp_path)
    collected = []
    for source in generated(families, tmp_path):
        collected += re.findall(r'^\s*"(\w+::[\w.]+)",', source.read_text(), re.MULTILINE)
        folders = [part for folder in (INCLUDE, C10) for part in ("-isystem", folder)]
        subprocess.run(
            [
                *("arm-none-eabi-g++", "-mcpu=cortex-m33", "-std=c++17", "-fno-exceptions"),
                *("-fno-rtti", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_LOG_ENABLED=0"),
                *("-w", "-fsyntax-only", *folders, source),
            ],
            check=True,
        )
    assert sorted(collected) == [
        name for name in OPERATORS if not name.startswith("executorch_prim")
    ]


def test_operators_that_are_declared_nowhere_are_all_named(checkout: Checkout) -> None:
    with pytest.raises(
        NoKernel, match=r"does not have a kernel for a::b\.out, aten::nothing\.out$"
    ):
        assign(checkout.root, ["a::b.out", "aten::add.out", "aten::nothing.out"])
