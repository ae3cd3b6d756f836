"""User operators in programs: quantised if registered, else float."""

from __future__ import annotations

import json
from pathlib import Path

from harness.exports import export

from cmcompiler.frontend.job import PROGRAM, RECORD, ExportRecord, read
from cmcompiler.pte.program import KernelInstruction
from cmcompiler.pte.reader import read_program

DEFINITION = """
import torch
from torch import Tensor

library = torch.library.Library("{name}", "DEF")
for schema in ("twice", "twice_s8"):
    library.define(f"{{schema}}(Tensor x, Tensor y) -> Tensor")
    library.define(f"{{schema}}.out(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl(schema, lambda x, y: x + 2 * y, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{name}::{{schema}}")(lambda x, y: torch.empty_like(x))
"""

REGISTRATION = """
from cmcompiler.frontend.quantized_op import quantized_op

@quantized_op(torch.ops.{name}.twice.default)
def to_int8(call):
    assert sorted(call.inputs) == [0, 1]
    assert all(-128 <= each.zero_point <= 127 for each in (*call.inputs.values(), call.output))
    assert (call.output.minimum, call.output.maximum) == (-128, 127)
    return torch.ops.{name}.twice_s8.default, call.arguments
"""

MODEL = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.{name}.twice(torch.relu(x), x)

def model():
    return Net(), torch.rand(1, 8), [torch.rand(1, 8) for _ in range(3)]
"""


def write(folder: Path, name: str, *parts: str) -> Path:
    """A project with an operator; returns the job that exports its model."""
    project = folder / name
    (project / "torch_ops").mkdir(parents=True)
    (project / "torch_ops" / "twice.py").write_text("".join(parts).format(name=name))
    (project / "net.py").write_text(MODEL.format(name=name))
    job = {
        "model": str(project / "net.py"),
        "torch_ops": str(project / "torch_ops"),
        "output": str(project / "out"),
    }
    (project / "job.json").write_text(json.dumps(job))
    return project / "job.json"


def operators(file: Path) -> set[str]:
    (method,) = read_program(file.read_bytes()).methods
    return {call.operator for call in method.instructions if isinstance(call, KernelInstruction)}


def test_operators_are_quantised_where_that_is_registered(tmp_path: Path) -> None:
    jobs = [
        write(tmp_path, "alpha", DEFINITION, REGISTRATION),
        write(tmp_path, "beta", DEFINITION),
        write(tmp_path, "gamma", DEFINITION, "\nimport no_such_module\n"),
        write(tmp_path, "delta", DEFINITION, REGISTRATION.replace("call.output.min", "call.min")),
    ]
    result = export(jobs)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    ended = {event["job"]: event for event in events if event["event"] != "step"}
    assert [ended[number]["event"] for number in range(4)] == ["done", "done", "error", "error"]

    quantised = operators(tmp_path / "alpha" / "out" / PROGRAM)
    assert "alpha::twice_s8.out" in quantised
    assert {name.partition("::")[0] for name in quantised} <= {"alpha", "cortex_m", "aten"}
    assert read(ExportRecord, tmp_path / "alpha" / "out" / RECORD).float_operators == ()

    in_float = operators(tmp_path / "beta" / "out" / PROGRAM)
    assert "beta::twice.out" in in_float
    assert "cortex_m::dequantize_per_tensor.out" in in_float
    (left,) = read(ExportRecord, tmp_path / "beta" / "out" / RECORD).float_operators
    assert (left.operator, left.reason) == (
        "beta.twice.default",
        "the quantizer does not support it",
    )

    place = tmp_path / "gamma" / "torch_ops" / "twice.py"
    assert ended[2]["error"].startswith(f"{place}:12: ModuleNotFoundError: ")
    assert ended[2]["kind"] == "invalid"
    place = tmp_path / "delta" / "torch_ops" / "twice.py"
    assert ended[3]["error"].startswith(f"{place}:18: AttributeError: ")
