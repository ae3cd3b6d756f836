"""READ_VARIABLE and ASSIGN_VARIABLE."""

from __future__ import annotations

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.view import View
from cmcompiler.ops.tflite._scales import tflite_op


@tflite_op("READ_VARIABLE")
def read_variable(call: Call) -> None:
    source, output = call.tensor("variable"), call.output("out")
    call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])


@tflite_op("ASSIGN_VARIABLE")
def read_assignment(call: Call) -> None:
    source, output = call.tensor("value"), call.output("variable")
    call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])
