"""One small call of every operator that programs may contain."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from cmcompiler.ops.arithmetic import SCALARS, TENSORS
from cmcompiler.ops.unary import FLOATS
from harness.calls import Given, In, Out
from harness.elementwise_calls import elementwise_calls
from harness.examples import Array
from harness.recurrent_calls import recurrent_calls
from harness.short_calls import short_calls
from harness.transformer_calls import transformer_calls

Arguments = tuple[Given, ...]

NHWC = (0, 2, 3, 1)
UNITY = (1 << 30, 1)
"""Multiplier and shift of the factor 1."""
INT8_CODE = 1

BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")
SCALE = ("exp", "log", "sqrt")


def floats(*shape: int) -> Array:
    """Positive and distinct."""
    return (np.arange(1, prod(shape) + 1, dtype=np.float32) / 8).reshape(shape)


def int8(*shape: int) -> Array:
    return (np.arange(prod(shape)) * 37 % 256 - 128).astype(np.int8).reshape(shape)


def constant(*numbers: int, dtype: str = "int32") -> In:
    return In(np.array(numbers, dtype), constant=True)


def operator_calls() -> Mapping[str, Arguments]:
    """Arguments by operator."""
    return {
        **_pointwise(),
        **_quantized(),
        **_quantized_images(),
        **_reductions(),
        **_movements(),
        **_parts(),
        **_fills(),
        **_indices(),
        **_images(),
        **_matrices(),
        **_norms(),
        **recurrent_calls(),
        **transformer_calls(),
        **elementwise_calls(),
        **short_calls(),
    }


def _pointwise() -> dict[str, Arguments]:
    x, y, out, truth = (
        In(floats(2, 3)),
        In(floats(2, 3)),
        Out("float32", (2, 3)),
        Out("bool", (2, 3)),
    )
    whole = In(np.arange(6, dtype=np.int32).reshape(2, 3)), Out("int32", (2, 3))
    calls: dict[str, Arguments] = {f"aten::{name}.out": (x, out) for name in FLOATS}
    for name in TENSORS:
        stem = name.partition(".")[0]
        if stem in BITWISE:
            calls[f"aten::{name}"] = (whole[0], whole[0], whole[1])
        else:
            calls[f"aten::{name}"] = (x, y, truth if stem in TRUTHS else out)
    for name in SCALARS:
        stem = name.partition(".")[0]
        if stem in BITWISE:
            calls[f"aten::{name}"] = (whole[0], 2, whole[1])
        else:
            calls[f"aten::{name}"] = (x, 1.5, truth if stem in TRUTHS else out)
    for name in ("relu", "neg", "abs", "sign", "floor", "ceil", "trunc", "round"):
        calls[f"aten::{name}.out"] = (x, out)
    for name in ("isnan", "isinf", "logical_not"):
        calls[f"aten::{name}.out"] = (x, truth)
    return calls | {
        "aten::add.out": (x, y, 2, out),
        "aten::sub.out": (x, y, 1, out),
        "aten::add.Scalar_out": (x, 1.5, 2, out),
        "aten::sub.Scalar_out": (x, 1.5, 1, out),
        "aten::rsub.Scalar_out": (x, 1.5, 2, out),
        "aten::div.out_mode": (x, y, "trunc", out),
        "aten::div.Scalar_mode_out": (x, 1.5, "floor", out),
        "aten::pow.Tensor_Tensor_out": (x, y, out),
        "aten::pow.Tensor_Scalar_out": (x, 3.0, out),
        "aten::pow.Scalar_out": (2.0, x, out),
        "aten::bitwise_not.out": whole,
        "aten::clamp.out": (x, 0.25, 0.5, out),
        "aten::clamp.Tensor_out": (x, y, None, out),
        "aten::hardtanh.out": (x, 0.25, 0.5, out),
        "aten::leaky_relu.out": (x, 0.5, out),
        "aten::elu.out": (x, 1.0, 2.0, 1, out),
        "aten::gelu.out": (x, "tanh", out),
        "aten::glu.out": (In(floats(2, 6)), 1, out),
        "aten::logit.out": (x, 0.25, out),
        "aten::where.self_out": (In(np.eye(2, 3, dtype=np.bool_)), x, y, out),
        "aten::masked_fill.Scalar_out": (x, In(np.eye(2, 3, dtype=np.bool_)), 7.0, out),
        "aten::tril.out": (x, 0, out),
        "aten::triu.out": (x, 0, out),
        "aten::cumsum.out": (x, 1, None, out),
        "aten::cumprod.out": (x, 1, None, out),
        "aten::_softmax.out": (x, 1, False, out),
        "aten::_log_softmax.out": (x, 1, False, out),
        "dim_order_ops::_to_dim_order_copy.out": (x, False, (0, 1), Out("int32", (2, 3))),
        "aten::_to_copy.out": (x, False, None, Out("int32", (2, 3))),
        "aten::copy.out": (x, y, False, out),
        "aten::copy_": (In(floats(2, 3), written=True), y, False),
    }


def _quantized() -> dict[str, Arguments]:
    x, y, out = In(int8(2, 3)), In(int8(1, 3)), Out("int8", (2, 3))
    matrix = In(int8(2, 3), constant=True)
    return {
        "cortex_m::quantized_activation.out": (x, In(int8(256), constant=True), out),
        "cortex_m::quantized_add.out": (
            x,
            3,
            *UNITY,
            y,
            -5,
            *UNITY,
            1,
            1 << 30,
            -19,
            -128,
            127,
            out,
        ),
        "cortex_m::quantized_mul.out": (x, 3, y, -5, 1, 1 << 30, -5, out),
        "cortex_m::quantized_div.out": (x, 3, y, -5, 1, 2.5, out),
        "cortex_m::minimum.out": (x, y, out),
        "cortex_m::maximum.out": (x, y, out),
        "cortex_m::softmax.out": (x, 1, 0, -128, 1 << 30, 23, -124, out),
        "cortex_m::quantize_per_tensor.out": (In(floats(2, 3)), 0.1, 3, -128, 127, INT8_CODE, out),
        "cortex_m::dequantize_per_tensor.out": (
            *(x, 0.1, 3, -128, 127, INT8_CODE),
            Out("float32", (2, 3)),
        ),
        "cortex_m::quantized_linear.out": (
            *(x, matrix, constant(5, -7), None, 3, 0, 1, UNITY[:1], (-7,), 127, -128),
            Out("int8", (2, 2)),
        ),
        "cmbuild::channel_linear_s8.out": (
            *(x, matrix, constant(5, -7), 3, 1, constant(1 << 30, 1 << 30), constant(-7, -8)),
            *(127, -128, Out("int8", (2, 2))),
        ),
        "cortex_m::quantized_batch_matmul.out": (
            *(In(int8(2, 2, 3)), 3, In(int8(2, 4, 3)), -5, 1, 1 << 30, -7, constant(0)),
            Out("int8", (2, 2, 4)),
        ),
        "cortex_m::transpose.out": (x, (1, 0), Out("int8", (3, 2))),
        "cortex_m::pad.out": (x, (0, 0, 1, 0), (0, 0, 0, 2), 7, Out("int8", (3, 5))),
    }


def _quantized_images() -> dict[str, Arguments]:
    calls: dict[str, Arguments] = {}
    for suffix, order in (("", NHWC), ("_nhwc", (0, 1, 2, 3))):

        def shape(*nhwc: int, order: tuple[int, ...] = order) -> tuple[int, ...]:
            """The logical shape: NCHW of NHWC, or unchanged."""
            batch, height, width, channels = nhwc
            return nhwc if order == (0, 1, 2, 3) else (batch, channels, height, width)

        def image(*nhwc: int, order: tuple[int, ...] = order) -> In:
            return In(int8(*shape(*nhwc, order=order)), order)

        def result(*nhwc: int, order: tuple[int, ...] = order) -> Out:
            return Out("int8", shape(*nhwc, order=order), order)

        scratch, square = constant(0), ((1, 1), (1, 1), (1, 1))
        scaled = (3, 1, constant(1 << 30, 1 << 30), constant(-7, -8), -128, 127)
        calls |= {
            f"cortex_m::quantized_conv2d{suffix}.out": (
                *(image(1, 4, 4, 3), In(int8(2, 3, 3, 3), constant=True), constant(5, -7)),
                *(*square, *scaled, scratch, result(1, 4, 4, 2)),
            ),
            f"cortex_m::quantized_depthwise_conv2d{suffix}.out": (
                *(image(1, 4, 4, 2), In(int8(1, 3, 3, 2), constant=True), constant(5, -7)),
                *(*square, 1, *scaled, scratch, result(1, 4, 4, 2)),
            ),
            f"cortex_m::quantized_transpose_conv2d{suffix}.out": (
                *(image(1, 3, 3, 3), In(int8(2, 2, 2, 3), constant=True), constant(5, -7)),
                *((2, 2), (0, 0), (0, 0), (1, 1), *scaled, scratch, scratch, result(1, 6, 6, 2)),
            ),
            f"cortex_m::quantized_avg_pool2d{suffix}.out": (
                *(image(1, 4, 4, 3), (2, 2), (2, 2), (0, 0), False, 3, *UNITY, scratch),
                result(1, 2, 2, 3),
            ),
            f"cortex_m::quantized_max_pool2d{suffix}.out": (
                *(image(1, 4, 4, 3), (2, 2), (2, 2), (0, 0), (1, 1), False, 3, 3, -128, 127),
                result(1, 2, 2, 3),
            ),
        }
    return calls


def _reductions() -> dict[str, Arguments]:
    x, out, every = In(floats(2, 3)), Out("float32", (2,)), Out("float32", ())
    place, truth = Out("int64", (2,)), Out("bool", (2,))
    ordered, places = Out("float32", (2, 3)), Out("int64", (2, 3))
    return {
        "aten::sum.IntList_out": (x, (1,), False, None, out),
        "aten::mean.out": (x, (1,), False, None, out),
        "aten::mean.dtype_out": (x, None, every),
        "aten::prod.int_out": (x, 1, False, None, out),
        "aten::prod.out": (x, None, every),
        "aten::amax.out": (x, (1,), False, out),
        "aten::amin.out": (x, (1,), False, out),
        "aten::max.unary_out": (x, every),
        "aten::min.unary_out": (x, every),
        "aten::argmax.out": (x, 1, False, place),
        "aten::argmin.out": (x, 1, False, place),
        "aten::max.dim_max": (x, 1, False, out, place),
        "aten::min.dim_min": (x, 1, False, out, place),
        "aten::sort.values": (x, 1, False, ordered, places),
        "aten::sort.values_stable": (x, True, 1, False, ordered, places),
        "aten::topk.values": (x, 3, 1, True, True, ordered, places),
        "aten::any.out": (x, 1, False, truth),
        "aten::any.dims_out": (x, (1,), False, truth),
        "aten::any.all_out": (x, Out("bool", ())),
        "aten::all.out": (x, 1, False, truth),
        "aten::all.dims_out": (x, (1,), False, truth),
        "aten::all.all_out": (x, Out("bool", ())),
        "aten::var.correction_out": (x, (1,), 1, False, out),
        "aten::var.out": (x, (1,), True, False, out),
        "aten::var_mean.correction_out": (x, (1,), 1, False, out, Out("float32", (2,))),
    }


def _movements() -> dict[str, Arguments]:
    x, one, flat = In(floats(2, 3)), In(floats(2, 1, 3)), Out("float32", (6,))
    out, turned = Out("float32", (2, 3)), Out("float32", (3, 2))
    stack = In(floats(1, 2, 3)), In(floats(1, 3, 4))
    return {
        "aten::view_copy.out": (x, (6,), flat),
        "executorch_prim::et_view.default": (x, (6,), flat),
        "aten::squeeze_copy.out": (one, out),
        "aten::squeeze_copy.dim_out": (one, 1, out),
        "aten::squeeze_copy.dims_out": (one, (1,), out),
        "aten::unsqueeze_copy.out": (x, 1, Out("float32", (2, 1, 3))),
        "aten::clone.out": (x, None, out),
        "aten::alias_copy.out": (x, out),
        "aten::detach_copy.out": (x, out),
        "aten::lift_fresh_copy.out": (x, out),
        "dim_order_ops::_clone_dim_order.out": (x, False, (0, 1), out),
        "aten::permute_copy.out": (x, (1, 0), turned),
        "aten::transpose_copy.int_out": (x, 0, 1, turned),
        "aten::t_copy.out": (x, turned),
        "aten::as_strided_copy.out": (x, (3, 2), (1, 3), 0, turned),
        "aten::unfold_copy.out": (x, 1, 2, 1, Out("float32", (2, 2, 2))),
        "aten::diagonal_copy.out": (x, 0, 0, 1, Out("float32", (2,))),
        "aten::cat.out": ([x, In(floats(1, 3))], 0, Out("float32", (3, 3))),
        "aten::stack.out": ([x, In(floats(2, 3))], 0, Out("float32", (2, 2, 3))),
        "aten::expand_copy.out": (one, (2, 4, 3), False, Out("float32", (2, 4, 3))),
        "aten::repeat.out": (x, (2, 1), Out("float32", (4, 3))),
        "aten::flip.out": (x, (1,), out),
        "aten::roll.out": (x, (1,), (1,), out),
        "aten::constant_pad_nd.out": (x, (1, 0), 7.0, Out("float32", (2, 4))),
        "aten::reflection_pad1d.out": (x, (1, 2), Out("float32", (2, 6))),
        "aten::replication_pad1d.out": (x, (1, 2), Out("float32", (2, 6))),
        "aten::reflection_pad2d.out": (stack[0], (1, 1, 1, 0), Out("float32", (1, 3, 5))),
        "aten::replication_pad2d.out": (stack[0], (1, 1, 1, 0), Out("float32", (1, 3, 5))),
        "aten::reflection_pad3d.out": (
            In(floats(1, 2, 2, 3)),
            (1, 1, 1, 0, 0, 1),
            Out("float32", (1, 3, 3, 5)),
        ),
        "aten::replication_pad3d.out": (
            In(floats(1, 2, 2, 3)),
            (1, 1, 1, 0, 0, 1),
            Out("float32", (1, 3, 3, 5)),
        ),
        "aten::pixel_shuffle.out": (In(floats(1, 4, 2, 3)), 2, Out("float32", (1, 1, 4, 6))),
        "aten::pixel_unshuffle.out": (In(floats(1, 1, 4, 6)), 2, Out("float32", (1, 4, 2, 3))),
    }


def _parts() -> dict[str, Arguments]:
    x, out = In(floats(4, 3)), Out("float32", (2, 3))
    return {
        "aten::slice_copy.Tensor_out": (x, 0, 1, 3, 1, out),
        "aten::narrow_copy.out": (x, 0, 1, 2, out),
        "aten::select_copy.int_out": (x, 0, 1, Out("float32", (3,))),
        "aten::unbind_copy.int_out": (In(floats(2, 3)), 0, [Out("float32", (3,))] * 2),
        "aten::split_copy.Tensor_out": (x, 2, 0, [out, Out("float32", (2, 3))]),
        "aten::split_with_sizes_copy.out": (x, (1, 3), 0, [Out("float32", (n, 3)) for n in (1, 3)]),
        "aten::slice_scatter.out": (x, In(floats(2, 3)), 0, 1, 3, 1, Out("float32", (4, 3))),
        "aten::select_scatter.out": (x, In(floats(3)), 0, 1, Out("float32", (4, 3))),
    }


def _fills() -> dict[str, Arguments]:
    x, out, line = In(floats(2, 3)), Out("float32", (2, 3)), Out("float32", (4,))
    return {
        "aten::full.out": ((2, 3), 7.0, out),
        "aten::full_like.out": (x, 7.0, None, out),
        "aten::fill.Scalar_out": (x, 7.0, out),
        "aten::fill.Tensor_out": (x, In(floats()), out),
        "aten::scalar_tensor.out": (7.0, Out("float32", ())),
        "aten::zeros.out": ((2, 3), out),
        "aten::ones.out": ((2, 3), out),
        "aten::empty.out": ((2, 3), None, out),
        "dim_order_ops::_empty_dim_order.out": ((2, 3), (0, 1), out),
        "aten::arange.out": (4, line),
        "aten::arange.start_out": (1, 9, 2, line),
    }


def _indices() -> dict[str, Arguments]:
    x, out = In(floats(4, 3)), Out("float32", (2, 3))
    rows = In(np.array([2, 0], np.int64))
    places = In(np.array([[2, 0, 1], [1, 3, 2]], np.int64))
    whole = Out("float32", (4, 3))
    return {
        "aten::gather.out": (x, 0, places, False, out),
        "aten::index_select.out": (x, 0, rows, out),
        "aten::embedding.out": (x, rows, -1, False, False, out),
        "aten::index.Tensor_out": (x, [rows], out),
        "aten::index_put.out": (x, [rows], In(floats(2, 3)), False, whole),
        "aten::index_put_": (In(floats(4, 3), written=True), [rows], In(floats(2, 3)), True),
        "aten::scatter.src_out": (x, 0, places, In(floats(2, 3)), whole),
        "aten::scatter_add.out": (x, 0, places, In(floats(2, 3)), whole),
        "aten::scatter.value_out": (x, 0, places, 7.0, whole),
    }


def _images() -> dict[str, Arguments]:
    x, out = In(floats(1, 2, 4, 4)), Out("float32", (1, 2, 2, 2))
    places = Out("int64", (1, 2, 2, 2))
    large = Out("float32", (1, 2, 8, 8))
    return {
        "aten::avg_pool2d.out": (x, (2, 2), (2, 2), (0, 0), False, True, None, out),
        "aten::_adaptive_avg_pool2d.out": (x, (2, 2), out),
        "aten::adaptive_max_pool2d.out": (x, (2, 2), out, places),
        "aten::max_pool2d_with_indices.out": (
            *(x, (2, 2), (2, 2), (0, 0), (1, 1), False, out),
            places,
        ),
        "aten::upsample_nearest2d.vec_out": (x, None, (2.0, 2.0), large),
        "aten::upsample_bilinear2d.vec_out": (x, (8, 8), False, None, large),
        "cmbuild::quantized_upsample_bilinear2d.out": (
            *(In(int8(1, 2, 4, 4)), (8, 8), False, None),
            Out("int8", (1, 2, 8, 8)),
        ),
        "aten::convolution.out": (
            *(x, In(floats(3, 2, 3, 3)), In(floats(3)), (1, 1), (1, 1), (1, 1), False, (0, 0), 1),
            Out("float32", (1, 3, 4, 4)),
        ),
    }


def _matrices() -> dict[str, Arguments]:
    x, y, out = In(floats(2, 3)), In(floats(3, 4)), Out("float32", (2, 4))
    return {
        "aten::mm.out": (x, y, out),
        "aten::bmm.out": (In(floats(2, 2, 3)), In(floats(2, 3, 4)), Out("float32", (2, 2, 4))),
        "aten::addmm.out": (In(floats(4)), x, y, 1, 2, out),
        "aten::linear.out": (x, In(floats(4, 3)), In(floats(4)), out),
    }


def _norms() -> dict[str, Arguments]:
    x, image = In(floats(2, 3)), In(floats(2, 4, 3))
    out, whole = Out("float32", (2, 3)), Out("float32", (2, 4, 3))

    def each(*shape: int) -> list[Out]:
        return [Out("float32", shape) for _ in range(2)]

    four = [In(floats(4)) for _ in range(4)]
    return {
        "aten::native_layer_norm.out": (
            *(x, (3,), In(floats(3)), In(floats(3)), 0.5, out),
            *each(2, 1),
        ),
        "aten::native_group_norm.out": (
            *(image, four[0], four[1], 2, 4, 3, 2, 0.5, whole),
            *each(2, 2),
        ),
        "aten::_native_batch_norm_legit.no_stats_out": (
            *(image, four[0], four[1], True, 0.1, 0.5, whole),
            *each(4),
        ),
        "aten::_native_batch_norm_legit_no_training.out": (
            *(image, *four, 0.1, 0.5, whole),
            *each(0),
        ),
    }
