"""User operators in programs: quantised if registered, else float."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from harness.exports import export

from cmcompiler.frontend.job import PROGRAM, RECORD, ExportRecord, read
from cmcompiler.pte.program import KernelInstruction, TensorValue
from cmcompiler.pte.reader import read_program

WEIGHTED = """
import torch
from torch import Tensor
from cmcompiler.frontend.quantized_op import {attribute}, quantized_op

library = torch.library.Library("{name}", "DEF")
for schema in ("twice(Tensor x, Tensor w)", "twice_s8(Tensor x, Tensor packed, int zero_point)"):
    library.define(f"{{schema}} -> Tensor")
library.define(
    "twice_s8.out(Tensor x, Tensor packed, int zero_point, *, Tensor(a!) out) -> Tensor(a!)"
)
library.impl("twice", lambda x, w: x * w.sum(), "CompositeExplicitAutograd")
torch.library.register_fake("{name}::twice")(lambda x, w: torch.empty_like(x))
torch.library.register_fake("{name}::twice_s8")(lambda x, packed, zero_point: torch.empty_like(x))

@quantized_op(torch.ops.{name}.twice.default, constants=[1], output={output})
def to_int8(call):
    assert sorted(call.inputs) == [0]
    assert call.constants[1].dtype is torch.float32
    packed = (10 * call.constants[1]).to(torch.int8)
    return torch.ops.{name}.twice_s8.default, (call.arguments[0], packed, call.output.zero_point)
"""

WEIGHTED_MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(4.0))

    def forward(self, x):
        return torch.ops.{name}.twice(x, self.w)

def model():
    return Net(), torch.rand(1, 8), [torch.linspace(0, 2, 8)[None]]
"""

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


@pytest.mark.parametrize(("output", "zero_point"), [("Fixed(0.5, 7)", 7), ("SameAs(0)", -128)])
def test_constants_are_packed_by_the_lowering(tmp_path: Path, output: str, zero_point: int) -> None:
    name = f"weighted_{zero_point + 128}"
    fields = {"name": name, "output": output, "attribute": output.partition("(")[0]}
    project = tmp_path / name
    (project / "torch_ops").mkdir(parents=True)
    (project / "torch_ops" / "twice.py").write_text(WEIGHTED.format(**fields))
    (project / "net.py").write_text(WEIGHTED_MODEL.format(**fields))
    job = {
        "model": str(project / "net.py"),
        "torch_ops": str(project / "torch_ops"),
        "output": str(project / "out"),
    }
    (project / "job.json").write_text(json.dumps(job))
    result = export([project / "job.json"])
    assert result.returncode == 0, result.stderr
    program = read_program((project / "out" / PROGRAM).read_bytes())
    (method,) = program.methods
    kernels = [call for call in method.instructions if isinstance(call, KernelInstruction)]
    (call,) = [kernel for kernel in kernels if kernel.operator == f"{name}::twice_s8.out"]
    held = [v for v in method.values if isinstance(v, TensorValue) and v.is_constant]
    assert [(v.dtype, bytes(v.data)) for v in held] == [(np.int8, bytes([0, 10, 20, 30]))]
    assert method.values[call.arguments[2]] == zero_point
