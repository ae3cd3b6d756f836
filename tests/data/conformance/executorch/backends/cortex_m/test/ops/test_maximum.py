"""Programs that are right, that are not, and that cannot be."""

import pytest
import torch
from executorch.backends.cortex_m.test.tester import CortexMTester


class Maximum(torch.nn.Module):
    def forward(self, x, y):
        return torch.maximum(x, y)


class Distances(torch.nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)


def inputs():
    return torch.rand(1, 6), torch.rand(1, 6)


def test_right():
    CortexMTester(Maximum(), inputs()).test_implementation()


@pytest.mark.xfail(reason="they say it cannot pass", strict=True)
def test_better_than_expected():
    CortexMTester(Maximum(), inputs()).test_implementation()


@pytest.mark.xfail(reason="they say it cannot pass", strict=True)
def test_as_bad_as_expected():
    assert inputs() is None


def test_unsupported():
    CortexMTester(Distances(), inputs()[:1]).test_implementation()


def test_wrong_kernel(monkeypatch):
    from dataclasses import replace

    from cmcompiler.ops.minimum import Maximum as Op

    right = Op.kernel_calls

    def wrong(*arguments):
        return [replace(call, kernel="minimum_s8") for call in right(*arguments)]

    monkeypatch.setattr(Op, "kernel_calls", wrong)
    CortexMTester(Maximum(), inputs()).test_implementation()


def test_wrong_program():
    """The board does what the program says, but that is not what the module does."""
    tester = CortexMTester(Maximum(), inputs())
    tester.quantize().export().to_edge().run_passes().to_executorch().serialize()
    tester.run_method_and_compare_outputs(inputs=tuple(reversed(inputs())))
    tester.stages[tester.cur].buffer = other_program()
    tester.run_method_and_compare_outputs(inputs=inputs())


def other_program():
    class Minimum(torch.nn.Module):
        def forward(self, x, y):
            return torch.minimum(x, y)

    tester = CortexMTester(Minimum(), inputs())
    tester.quantize().export().to_edge().run_passes().to_executorch().serialize()
    return tester.get_artifact()
