"""The inputs, options and outputs of the operators of TensorFlow Lite that are read."""

from __future__ import annotations

from dataclasses import dataclass

from cmcompiler.errors import InvalidProgram
from cmcompiler.pte.flatbuffer import TableReader
from cmcompiler.pte.program import Value
from cmcompiler.tflite.schema import BuiltinOptions

PREFIX = "tflite::"

_ABSENT: dict[str, Value] = {"bool": False, "float": 0.0, "ints": ()}
"""An option's value if the whole table is absent; a number's is its default."""


@dataclass(frozen=True, slots=True)
class OptionField:
    """A field of an operator's options table.

    Attributes:
        kind: `byte`, `int`, `bool`, `float` or `ints`.
        default: of a `byte` or an `int` that is absent.
    """

    kind: str
    name: str
    slot: int
    default: int = 0

    def read(self, table: TableReader | None) -> Value:
        if table is None:
            return _ABSENT.get(self.kind, self.default)
        match self.kind:
            case "byte":
                return table.int8(self.slot, self.default)
            case "int":
                return table.int32(self.slot, self.default)
            case "bool":
                return table.boolean(self.slot)
            case "float":
                return table.float32(self.slot)
            case "ints":
                return table.int32s(self.slot)
        raise ValueError(self.kind)

    @property
    def type(self) -> str:
        """The type as the declarations of operators.yaml have it."""
        return {"byte": "int", "ints": "int[]"}.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or output of an operator.

    Attributes:
        optional: it may be absent.
        many: a list that takes all that is left.
        changed: an input that the operator writes, too.
    """

    name: str
    optional: bool = False
    many: bool = False
    changed: bool = False

    @property
    def type(self) -> str:
        if self.changed:
            return "Tensor(a!)"
        return "Tensor[]" if self.many else "Tensor?" if self.optional else "Tensor"


@dataclass(frozen=True, slots=True)
class Form:
    """How an operator is called.

    Attributes:
        table: the type of its options table; NONE if nothing of that is read.
    """

    inputs: tuple[Parameter, ...]
    table: BuiltinOptions
    options: tuple[OptionField, ...]
    outputs: tuple[Parameter, ...]

    def declaration(self, name: str) -> str:
        """In the syntax of operators.yaml: inputs, options, outputs."""
        inputs = [f"{operand.type} {operand.name}" for operand in self.inputs]
        options = [f"{option.type} {option.name}" for option in self.options]
        outputs = [
            f"Tensor(a!){'[]' if operand.many else ''} {operand.name}" for operand in self.outputs
        ]
        return f"{PREFIX}{name}({', '.join([*inputs, *options, '*', *outputs])})"


def assign(
    label: str, operands: tuple[Parameter, ...], indices: tuple[int, ...]
) -> list[int | tuple[int, ...]]:
    """The index of each operand's tensor, -1 if it is absent; a tuple for a list.

    Raises:
        InvalidProgram: too few or too many.
    """
    if operands and operands[-1].many:
        least = len(operands) - 1
        if len(indices) < least:
            raise InvalidProgram(f"{label} has {len(indices)} operands, not {least} or more")
        return [*indices[:least], indices[least:]]
    least = sum(not operand.optional for operand in operands)
    if not least <= len(indices) <= len(operands):
        raise InvalidProgram(f"{label} has {len(indices)} operands, not {len(operands)}")
    return [*indices, *[-1] * (len(operands) - len(indices))]


def _form(inputs: str, options: str = "", outputs: str = "out") -> Form:
    """From `input filter bias? state!`, `Table byte padding@0 int dilation@5=1` and `out*`."""
    fields = []
    table, *words = options.split() or ["NONE"]
    for kind, word in zip(words[::2], words[1::2], strict=True):
        name, _, rest = word.partition("@")
        slot, _, default = rest.partition("=")
        fields.append(OptionField(kind, name, int(slot), int(default or 0)))
    return Form(_operands(inputs), BuiltinOptions[table], tuple(fields), _operands(outputs))


def _operands(text: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(word.rstrip("?*!"), word.endswith("?"), word.endswith("*"), word.endswith("!"))
        for word in text.split()
    )


_CONVOLUTION = "byte padding@0 int stride_w@1 int stride_h@2"
_POOL = f"Pool2DOptions {_CONVOLUTION} int filter_w@3 int filter_h@4 byte activation@5"
_UNARY = _form("input")
_PAIR = _form("lhs rhs")
_CHOICE = _form("condition lhs rhs")
_REDUCTION = _form("input axes", "ReducerOptions bool keep_dims@0")

FORMS: dict[str, Form] = {
    "ABS": _UNARY,
    "ADD": _form("lhs rhs", "AddOptions byte activation@0"),
    "ADD_N": _form("inputs*"),
    "ARG_MAX": _form("input axis"),
    "ARG_MIN": _form("input axis"),
    "ASSIGN_VARIABLE": _form("value", "", "variable"),
    "AVERAGE_POOL_2D": _form("input", _POOL),
    "BATCH_MATMUL": _form("lhs rhs", "BatchMatMulOptions bool adj_x@0 bool adj_y@1"),
    "BATCH_TO_SPACE_ND": _form("input block crops"),
    "BROADCAST_TO": _form("input shape"),
    "CAST": _UNARY,
    "CEIL": _UNARY,
    "CONCATENATION": _form("inputs*", "ConcatenationOptions int axis@0 byte activation@1"),
    "CONV_2D": _form(
        "input filter bias?",
        f"Conv2DOptions {_CONVOLUTION} byte activation@3 int dilation_w@4=1 int dilation_h@5=1",
    ),
    "COS": _UNARY,
    "CUMSUM": _form("input axis", "CumsumOptions bool exclusive@0 bool reverse@1"),
    "DEPTHWISE_CONV_2D": _form(
        "input filter bias?",
        f"DepthwiseConv2DOptions {_CONVOLUTION} int depth_multiplier@3 byte activation@4 "
        "int dilation_w@5=1 int dilation_h@6=1",
    ),
    "DEPTH_TO_SPACE": _form("input", "DepthToSpaceOptions int block@0"),
    "DEQUANTIZE": _UNARY,
    "DIV": _form("lhs rhs", "DivOptions byte activation@0"),
    "DYNAMIC_UPDATE_SLICE": _form("input update start"),
    "ELU": _UNARY,
    "EQUAL": _PAIR,
    "EXP": _UNARY,
    "EXPAND_DIMS": _form("input axis"),
    "FILL": _form("shape value"),
    "FLOOR": _UNARY,
    "FULLY_CONNECTED": _form(
        "input filter bias?",
        "FullyConnectedOptions byte activation@0 byte weights_format@1 bool keep_num_dims@2",
    ),
    "GATHER": _form("input indices", "GatherOptions int axis@0 int batch_dims@1"),
    "GATHER_ND": _form("input indices"),
    "GELU": _form("input", "GeluOptions bool approximate@0"),
    "GREATER": _PAIR,
    "GREATER_EQUAL": _PAIR,
    "HARD_SWISH": _UNARY,
    "L2_NORMALIZATION": _form("input", "L2NormOptions byte activation@0"),
    "LEAKY_RELU": _form("input", "LeakyReluOptions float alpha@0"),
    "LESS": _PAIR,
    "LESS_EQUAL": _PAIR,
    "LOG": _UNARY,
    "LOGICAL_AND": _PAIR,
    "LOGICAL_NOT": _UNARY,
    "LOGICAL_OR": _PAIR,
    "LOGISTIC": _UNARY,
    "LOG_SOFTMAX": _UNARY,
    "MAXIMUM": _PAIR,
    "MAX_POOL_2D": _form("input", _POOL),
    "MEAN": _REDUCTION,
    "MINIMUM": _PAIR,
    "MIRROR_PAD": _form("input paddings", "MirrorPadOptions byte mode@0"),
    "MUL": _form("lhs rhs", "MulOptions byte activation@0"),
    "NEG": _UNARY,
    "NOT_EQUAL": _PAIR,
    "PACK": _form("inputs*", "PackOptions int count@0 int axis@1"),
    "PAD": _form("input paddings"),
    "PADV2": _form("input paddings value"),
    "PRELU": _form("input alpha"),
    "QUANTIZE": _UNARY,
    "READ_VARIABLE": _form("variable"),
    "REDUCE_MAX": _REDUCTION,
    "REDUCE_MIN": _REDUCTION,
    "RELU": _UNARY,
    "RELU6": _UNARY,
    "RELU_N1_TO_1": _UNARY,
    "RELU_0_TO_1": _UNARY,
    "RESHAPE": _form("input shape?", "ReshapeOptions ints new_shape@0"),
    "RESIZE_BILINEAR": _form(
        "input size", "ResizeBilinearOptions bool align_corners@2 bool half_pixel_centers@3"
    ),
    "RESIZE_NEAREST_NEIGHBOR": _form(
        "input size",
        "ResizeNearestNeighborOptions bool align_corners@0 bool half_pixel_centers@1",
    ),
    "REVERSE_V2": _form("input axes"),
    "ROUND": _UNARY,
    "RSQRT": _UNARY,
    "SELECT": _CHOICE,
    "SELECT_V2": _CHOICE,
    "SHAPE": _UNARY,
    "SIGN": _UNARY,
    "SIN": _UNARY,
    "SLICE": _form("input begin size"),
    "SOFTMAX": _form("input", "SoftmaxOptions float beta@0"),
    "SPACE_TO_BATCH_ND": _form("input block paddings"),
    "SPACE_TO_DEPTH": _form("input", "SpaceToDepthOptions int block@0"),
    "SPLIT": _form("axis input", "", "out*"),
    "SPLIT_V": _form("input sizes axis", "", "out*"),
    "SQRT": _UNARY,
    "SQUARE": _UNARY,
    "SQUARED_DIFFERENCE": _PAIR,
    "SQUEEZE": _UNARY,
    "STRIDED_SLICE": _form(
        "input begin end strides",
        "StridedSliceOptions int begin_mask@0 int end_mask@1 int ellipsis_mask@2 "
        "int new_axis_mask@3 int shrink_axis_mask@4 bool offset@5",
    ),
    "SUB": _form("lhs rhs", "SubOptions byte activation@0"),
    "SUM": _REDUCTION,
    "SVDF": _form(
        "input feature_weights time_weights bias? state!",
        "SVDFOptions int rank@0 byte activation@1",
    ),
    "TANH": _UNARY,
    "TILE": _form("input multiples"),
    "TRANSPOSE": _form("input order"),
    "TRANSPOSE_CONV": _form(
        "shape filter input bias?", f"TransposeConvOptions {_CONVOLUTION} byte activation@3"
    ),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _form(
        "input "
        "input_to_input? input_to_forget input_to_cell input_to_output "
        "hidden_to_input? hidden_to_forget hidden_to_cell hidden_to_output "
        "cell_to_input? cell_to_forget? cell_to_output? "
        "input_bias? forget_bias cell_bias output_bias "
        "projection? projection_bias? hidden cell "
        "input_norm? forget_norm? cell_norm? output_norm?",
        "UnidirectionalSequenceLSTMOptions byte activation@0 float cell_clip@1 "
        "float projection_clip@2 bool time_major@3 bool diagonal@5",
    ),
    "UNPACK": _form("input", "UnpackOptions int num@0 int axis@1", "out*"),
    "ZEROS_LIKE": _UNARY,
}
