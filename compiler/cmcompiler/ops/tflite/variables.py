"""READ_VARIABLE and ASSIGN_VARIABLE."""

from __future__ import annotations

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.tflite._scales import tflite_op


@tflite_op("READ_VARIABLE")
def read_variable(call: Call) -> None:
    source, output = call.tensor("variable"), call.output("out")
    _check(call, source, output)
    call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])


@tflite_op("ASSIGN_VARIABLE")
def read_assignment(call: Call) -> None:
    source, output = call.tensor("value"), call.output("variable")
    _check(call, source, output)
    call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])


def _check(call: Call, source: Operand, output: Operand) -> None:
    if (source.shape, source.dtype) != (output.shape, output.dtype):
        given, taken = (f"{each.dtype.name} {list(each.shape)}" for each in (source, output))
        call.invalid(f"{given} to {taken}")
