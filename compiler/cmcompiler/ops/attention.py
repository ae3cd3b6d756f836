"""Scaled dot product attention of quantised numbers in one piece: cmbuild::quantized_attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Scratch, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.matmul import NONE
from cmcompiler.ops.support.convolution import check_output
from cmcompiler.ops.support.empty_rows import EmptyRows
from cmcompiler.ops.support.parameters import INT8, INT32_MAX, read_zero_point
from cmcompiler.ops.support.requantize import doubling_high_multiply, requantize

ATTENTION = Microkernel("attention_s8", dsp=True, mve=True)

STEPS = 64
"""Steps of a score that halve a weight."""

LARGEST_WEIGHT = 255

LAST_DISTANCE = 576
"""From the largest score of a row; from here on weights are 0."""

EXCLUDED = -(1 << 30)
"""The score of a key that a mask excludes with INT16_MIN."""
INT16_MIN = -(1 << 15)

LARGEST_SCORE = 1 << 29
MOST_KEYS = 1 << 15


def weights_by_distance() -> npt.NDArray[np.uint8]:
    """255 · 2^(-d / 64) for d = 0 … LAST_DISTANCE, rounded."""
    distances = np.arange(LAST_DISTANCE + 1)
    weights: npt.NDArray[np.uint8]
    weights = np.rint(LARGEST_WEIGHT * np.exp2(-distances / STEPS)).astype(np.uint8)
    return weights


def reciprocal(total: int) -> tuple[int, int]:
    """1 / total as mantissa · 2^-(31 + shift), for a sum of weights.

    The mantissa has 31 bits, fewer for a total of more than 16.
    """
    bits = total.bit_length()
    shift = min(bits - 1, 32 - bits)
    return min((1 << (31 + shift)) // total, INT32_MAX), shift


@dataclass(frozen=True, eq=False, slots=True)
class Weighing:
    """The parts of rows of queries and their keys, so that each part can be compared.

    Attributes:
        scores: of all keys, before a mask: [batch, rows, keys].
        nearest: the first key with the row's largest score, [batch, rows].
        distances: of all keys from it, up to LAST_DISTANCE: [batch, rows, keys].
        weights: of the keys; all 0 in a row that sees none.
        means: the op's output.
    """

    scores: npt.NDArray[np.int64]
    nearest: npt.NDArray[np.int64]
    distances: npt.NDArray[np.int64]
    weights: npt.NDArray[np.uint8]
    means: Array


@dataclass(frozen=True)
class AttentionArguments(Arguments):
    """Matrices of queries, keys and values, and the scratch to weigh them."""

    c_name = "cm_attention_s8"

    query: Place
    key: Place
    value: Place
    mask: Place
    output: Place
    weights: Place
    key_sums: Place
    scores: Place
    value_sums: Place
    values: Place
    workspace: Place
    batch: Int32
    group: Int32
    rows: Int32
    keys: Int32
    depth: Int32
    width: Int32
    is_causal: Int32
    empty_rows: Int32
    is_bool: Int32
    mask_matrix_stride: Int32
    mask_row_stride: Int32
    query_zero_point: Int32
    value_zero_point: Int32
    score_multiplier: Int32
    score_shift: Int32
    multiplier: Int32
    shift: Int32
    zero_point: Int32


@dataclass(frozen=True)
class Attention(Op):
    """Means of the rows of int8 values, weighted with the exponentials of scores.

    The scores of a row of queries are its products with the keys, in steps of 1/64 of a doubling.
    A weight is 255 · 2^(-distance from the row's largest score), rounded. The sum of the weighted
    values is divided by the sum of the weights. docs/exactness.md has the formats.

    Attributes:
        batch: matrices of queries.
        group: of matrices in a row that share keys and values.
        rows, keys: of a matrix of queries, and of keys and values.
        depth, width: elements of a row of queries and keys, and of values.
        is_causal: a row sees no key after its own position.
        empty_rows: what becomes of rows of which the mask excludes all keys.
        mask_strides: elements from one matrix of the mask to the next, and from row to row.
        query_zero_point, value_zero_point: that of the keys would add the same to all scores.
        score: multiplier and left shift of the products.
        output: multiplier and shift of the mean.
    """

    label = "attention"
    element = np.dtype(np.int8)
    # Where parts cannot be compared: the comparison with the float model takes each on its own.
    error_steps = 0.95

    batch: int
    group: int
    rows: int
    keys: int
    depth: int
    width: int
    is_causal: bool
    mask_strides: tuple[int, int]
    query_zero_point: int
    value_zero_point: int
    score: tuple[int, int]
    output: tuple[int, int]
    zero_point: int
    empty_rows: EmptyRows = EmptyRows.ZERO

    @property
    def macs(self) -> int:
        return self.batch * self.rows * self.keys * (self.depth + self.width)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        scores = self._masked(self._scores(inputs), inputs)
        weights = self._weights(self._distances(scores), scores).astype(np.float64)
        values = np.repeat(inputs[2].astype(np.float64), self.group, axis=0)
        totals = weights.sum(axis=2).astype(np.int64)
        sums = (weights @ (values - self.value_zero_point)).astype(np.int64)
        factors = np.array([self._factor(total) for total in totals.ravel().tolist()], np.int64)
        multipliers, shifts = factors.reshape(*totals.shape, 2, 1).transpose(2, 0, 1, 3)
        means = requantize(sums, multipliers, shifts).astype(np.int64)
        return (INT8.clamp(means + self.zero_point),)

    def weigh(self, inputs: Sequence[Array], output: Array) -> Weighing:
        """The values that the op makes of its inputs on the way to its output."""
        scores = self._scores(inputs)
        masked = self._masked(scores, inputs)
        distances = self._distances(masked)
        weights = self._weights(distances, masked)
        return Weighing(scores, masked.argmax(axis=2), distances, weights, output)

    def _scores(self, inputs: Sequence[Array]) -> npt.NDArray[np.int64]:
        # Sums in float64 are exact below 2^53.
        queries = inputs[0].astype(np.float64) - self.query_zero_point
        keys = np.repeat(inputs[1].astype(np.float64), self.group, axis=0)
        products = (queries @ keys.transpose(0, 2, 1)).astype(np.int64)
        multiplier, left = self.score
        return doubling_high_multiply(products << left, multiplier).astype(np.int64)

    def _distances(self, scores: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        distances: npt.NDArray[np.int64]
        distances = np.minimum(scores.max(axis=2, keepdims=True) - scores, LAST_DISTANCE)
        return distances

    def _weights(
        self, distances: npt.NDArray[np.int64], scores: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint8]:
        is_seen = scores.max(axis=2, keepdims=True) != EXCLUDED
        return np.where(is_seen, weights_by_distance()[distances], np.uint8(0))

    def _masked(
        self, scores: npt.NDArray[np.int64], inputs: Sequence[Array]
    ) -> npt.NDArray[np.int64]:
        """Scores with those that a mask or the row's own position excludes."""
        hidden = np.triu(np.full((self.rows, self.keys), self.is_causal), 1)
        result = scores.copy()
        if len(inputs) == 4:
            result = self._with_mask(scores, inputs[3], hidden)
        result[:, hidden] = EXCLUDED
        return result

    def _with_mask(
        self, scores: npt.NDArray[np.int64], mask: Array, hidden: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        excluded = ~mask if mask.dtype == np.bool_ else mask == INT16_MIN
        added = scores if mask.dtype == np.bool_ else scores + mask
        result = np.where(excluded, EXCLUDED, added)
        if self.empty_rows is EmptyRows.ZERO:
            return result
        is_empty = np.broadcast_to(excluded | hidden, scores.shape).all(axis=2, keepdims=True)
        alike = self.empty_rows is EmptyRows.EQUAL
        return np.where(is_empty, 0 if alike else scores, result)

    def _factor(self, total: int) -> tuple[int, int]:
        """Multiplier and shift from the sum of weighted values to the output."""
        if total == 0:
            return 0, 0
        mantissa, shift = reciprocal(total)
        multiplier = doubling_high_multiply(self.output[0], mantissa)
        return int(multiplier), self.output[1] - shift

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        mask = inputs[3] if len(inputs) == 4 else None
        # Rows in whole vectors.
        padded, depth = -(-self.keys // 16) * 16, -(-self.depth // 16) * 16
        # With SIMD, values are transposed; DSP widens two rows at a time.
        provider = ATTENTION.provider(isa)
        values = 0 if provider is Isa.SCALAR else padded * self.width
        rows = 2 if provider is Isa.DSP else 1
        arguments = AttentionArguments(
            query=Address(inputs[0]),
            key=Address(inputs[1]),
            value=Address(inputs[2]),
            mask=NONE if mask is None else Address(mask),
            output=Address(outputs[0]),
            weights=Packed(weights_by_distance().tobytes()),
            key_sums=Scratch(4 * padded),
            scores=Scratch(4 * padded * rows),
            value_sums=Scratch(4 * (self.width + 3)),
            values=Scratch(values),
            workspace=Scratch(4 * max(padded, depth) if provider is Isa.DSP else 0),
            batch=self.batch,
            group=self.group,
            rows=self.rows,
            keys=self.keys,
            depth=self.depth,
            width=self.width,
            is_causal=int(self.is_causal),
            empty_rows=int(self.empty_rows),
            is_bool=int(mask is not None and mask.dtype == np.bool_),
            mask_matrix_stride=self.mask_strides[0],
            mask_row_stride=self.mask_strides[1],
            query_zero_point=self.query_zero_point,
            value_zero_point=self.value_zero_point,
            score_multiplier=self.score[0],
            score_shift=self.score[1],
            multiplier=self.output[0],
            shift=self.output[1],
            zero_point=self.zero_point,
        )
        return [KernelCall.of("attention_s8", arguments, microkernel=ATTENTION)]


@program_op(
    "cmbuild::quantized_attention.out(Tensor query, Tensor key, Tensor value, Tensor? mask, "
    "bool is_causal, int empty_rows, int query_zero_point, int value_zero_point, "
    "int score_multiplier, int score_shift, int output_multiplier, int output_shift, "
    "int output_zero_point, *, "
    "Tensor(a!) out)"
)
def read(call: Call) -> None:
    """Tensors are matrices [batch, rows, depth]; a mask has 1 in place of what it repeats."""
    operands = [call.tensor(name, dtype=np.int8, rank=3) for name in ("query", "key", "value")]
    tensors = [call.arrange(operand, range(3)) for operand in operands]
    (batch, rows, depth), (key_batch, keys, key_depth), (_, _, width) = (x.shape for x in tensors)
    output = call.output("out")
    result = call.arranged_output(output, range(output.rank))
    check_output(call, result, (batch, rows, width))
    if key_depth != depth or tensors[2].shape[:2] != (key_batch, keys):
        call.invalid(f"queries, keys and values of {', '.join(str(x.shape) for x in tensors)}")
    if key_batch < 1 or batch % key_batch:
        call.invalid(f"{batch} matrices of queries for {key_batch} of keys")
    if not 1 <= keys <= MOST_KEYS:
        call.unsupported(f"{keys:,} keys, not 1 to {MOST_KEYS:,}")
    score = (call.integer("score_multiplier", 0, INT32_MAX), call.integer("score_shift", 0, 31))
    largest = depth * 255 * 128 << score[1]
    if largest > INT32_MAX >> 1 or largest * score[0] >> 31 > LARGEST_SCORE:
        call.unsupported(f"scores of {depth} products with multiplier {score[0]} and {score[1]}")
    mask = _mask(call, (batch, rows, keys))
    op = Attention(
        batch=batch,
        group=batch // key_batch,
        rows=rows,
        keys=keys,
        depth=depth,
        width=width,
        is_causal=call.boolean("is_causal"),
        empty_rows=EmptyRows(call.integer("empty_rows", 0, max(EmptyRows))),
        mask_strides=(0, 0) if mask is None else _strides(mask.shape),
        query_zero_point=read_zero_point(call, "query_zero_point"),
        value_zero_point=read_zero_point(call, "value_zero_point"),
        score=score,
        output=(
            call.integer("output_multiplier", 0, INT32_MAX),
            call.integer("output_shift", -15, 31),
        ),
        zero_point=read_zero_point(call, "output_zero_point"),
    )
    if mask is not None:
        tensors.append(call.arrange(mask, range(3)))
    call.emit(op, tensors, [result])


def _mask(call: Call, shape: tuple[int, int, int]) -> Operand | None:
    mask = call.optional("mask", rank=3)
    if mask is None:
        return None
    if mask.dtype not in (np.bool_, np.int16):
        call.unsupported(f"a mask of {mask.dtype.name}")
    if mask.shape[2] != shape[2] or any(
        given not in (1, size) for given, size in zip(mask.shape, shape, strict=True)
    ):
        call.invalid(f"a mask of {list(mask.shape)} for scores of {list(shape)}")
    return mask


def _strides(shape: tuple[int, ...]) -> tuple[int, int]:
    matrices, rows, columns = shape
    return (prod(shape[1:]) if matrices > 1 else 0, columns if rows > 1 else 0)
