"""Runs that give wrong outputs, and the op that is found to be the first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cmbuild.catalog import find_board
from cmbuild.launchers.execution import Execution
from cmbuild.pipeline.request import Sampling
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.reference import ReferenceStage
from cmbuild.verify.comparison import Comparison, to_logical, to_memory
from cmcompiler.ir.reference import evaluate
from cmcompiler.isa import Isa

NETWORK = Path(__file__).parents[2] / "data" / "programs" / "network.pte"


class Device:
    """Gives what the reference gives, but for what a test spoils."""

    def __init__(self, folder: Path, samples: int) -> None:
        source = ProgramSource("network", "forward", "program", file=NETWORK)
        self.plan = PlanStage(source, find_board("native"), Isa.SCALAR, folder)
        self.reference = ReferenceStage(self.plan, Sampling(samples=samples), 0, folder)
        for stage in (self.plan, self.reference):
            with stage.entry.replace(stage.fingerprint) as made:
                stage.make(made)
        self.graph = source.graph()
        self.comparison = Comparison(self.reference)
        self.wrong_sample: int | None = None
        self.wrong_step = 0

    def run(self) -> Execution:
        """Spoils the first byte of what wrong_step writes, and of the output that follows."""
        outputs = []
        for index, sample in enumerate(self.reference.samples):
            ports = self.plan.record.outputs
            results = evaluate(self.graph, sample).outputs
            memory = [to_memory(a, port) for a, port in zip(results, ports, strict=True)]
            outputs.append(tuple(map(spoilt, memory) if index == self.wrong_sample else memory))
        return self._execution(tuple(outputs), ())

    def trace(self) -> Execution:
        assert self.wrong_sample is not None
        request = self.comparison.tracing_request()
        (inputs,) = request.samples
        sample = self.reference.samples[self.wrong_sample]
        assert [np.frombuffer(data, np.int8).size for data in inputs] == [sample[0].nbytes]
        tensors = {tensor.name: tensor for node in self.graph.nodes for tensor in node.outputs}
        kept = evaluate(self.graph, sample, keep=tensors.values()).tensors
        trace = []
        for watch in request.watches:
            (written,) = self.plan.record.steps[watch.step].writes
            data = kept[tensors[written.name]].tobytes()
            assert len(data) == watch.size
            trace.append(spoilt(data) if watch.step >= self.wrong_step else data)
        return self._execution((), (tuple(trace),))

    def _execution(
        self, outputs: tuple[tuple[bytes, ...], ...], traces: tuple[tuple[bytes, ...], ...]
    ) -> Execution:
        return Execution(outputs, traces, (), (), None, 0.0, Path("log"))


def spoilt(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def test_right_outputs_are_verified(tmp_path: Path) -> None:
    device = Device(tmp_path, samples=3)
    device.comparison.take(device.run())
    check = device.comparison.verification()
    assert (check.verified, check.rule, check.samples, check.mismatches) == (True, "exact", 3, 0)


@pytest.mark.parametrize("step", range(4))
def test_first_wrong_op_is_named(tmp_path: Path, step: int) -> None:
    device = Device(tmp_path, samples=3)
    device.wrong_sample, device.wrong_step = 1, step
    device.comparison.take(device.run())
    assert device.comparison.failed == 1
    device.comparison.locate(device.trace())
    check = device.comparison.verification()
    assert (check.verified, check.samples, check.failed, check.mismatches) == (False, 3, 1, 1)
    record = device.plan.record.steps[step]
    size = np.prod(record.writes[0].shape)
    assert check.first == (f"op {step}, {record.title} ({record.source}): 1 of {size:,} elements")


def test_memory_and_logical_order_are_inverse(tmp_path: Path) -> None:
    port = Device(tmp_path, samples=1).plan.record.inputs[0]
    array = np.arange(np.prod(port.shape), dtype=np.float32).reshape(port.shape)
    data = to_memory(array, port)
    assert port.dim_order == (0, 2, 3, 1)
    assert np.frombuffer(data, np.float32)[:2].tolist() == [array[0, 0, 0, 0], array[0, 1, 0, 0]]
    np.testing.assert_array_equal(to_logical(data, port), array)
