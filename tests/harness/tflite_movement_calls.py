"""Programs that move elements or convert them."""

from __future__ import annotations

import numpy as np

from harness.tflite_maker import (
    Maker,
    case,
)


@case(
    pad={},
    value={"value": 17},
)
def pad(make: Maker, value: int | None = None) -> None:
    paddings = make.file.constant(np.array([[0, 0], [1, 2], [0, 3], [2, 0]], np.int32))
    operands = [make.source((1, 4, 5, 3), 0.05, 3), paddings]
    if value is not None:
        operands.append(make.file.constant(np.array([value], np.int8), scale=0.05, zero_point=3))
    name = "PAD" if value is None else "PADV2"
    make.file.operator(name, operands, (make.result((1, 7, 8, 5), 0.05, 3),))


@case(reflect={"mode": 0}, symmetric={"mode": 1})
def mirror_pad(make: Maker, mode: int) -> None:
    paddings = make.file.constant(np.array([[0, 0], [1, 2], [3, 3], [0, 2]], np.int32))
    source, out = make.source((1, 4, 5, 3), 0.05, 3), make.result((1, 7, 11, 5), 0.05, 3)
    make.file.operator("MIRROR_PAD", (source, paddings), (out,), mode=mode)


@case(channels={"axis": 3}, rows={"axis": -3})
def concatenation(make: Maker, axis: int) -> None:
    sources = [make.source((1, 4, 5, 3), 0.05, 3) for _ in range(3)]
    shape = [1, 4, 5, 3]
    shape[axis] *= 3
    make.file.operator("CONCATENATION", sources, (make.result(shape, 0.05, 3),), axis=axis)


@case()
def tile(make: Maker) -> None:
    multiples = make.file.constant(np.array([1, 2, 3], np.int32))
    source, out = make.source((2, 4, 5), 0.05, 3), make.result((2, 8, 15), 0.05, 3)
    make.file.operator("TILE", (source, multiples), (out,))


@case()
def pack(make: Maker) -> None:
    sources = [make.source((4, 5), 0.05, 3) for _ in range(3)]
    out = make.result((4, 3, 5), 0.05, 3)
    make.file.operator("PACK", sources, (out,), axis=1, count=3)


@case()
def unpack(make: Maker) -> None:
    outs = [make.result((4, 5), 0.05, 3) for _ in range(3)]
    make.file.operator("UNPACK", (make.source((4, 3, 5), 0.05, 3),), outs, num=3, axis=1)


@case()
def split(make: Maker) -> None:
    axis = make.file.constant(np.array([3], np.int32))
    outs = [make.result((1, 4, 5, 2), 0.05, 3) for _ in range(3)]
    make.file.operator("SPLIT", (axis, make.source((1, 4, 5, 6), 0.05, 3)), outs, unread=3)


@case()
def split_v(make: Maker) -> None:
    sizes = make.file.constant(np.array([1, 3, 2], np.int32))
    axis = make.file.constant(np.array([-1], np.int32))
    outs = [make.result((1, 4, 5, n), 0.05, 3) for n in (1, 3, 2)]
    source = make.source((1, 4, 5, 6), 0.05, 3)
    make.file.operator("SPLIT_V", (source, sizes, axis), outs, unread=3)


@case()
def slice(make: Maker) -> None:
    begin = make.file.constant(np.array([0, 1, 2, 1], np.int32))
    size = make.file.constant(np.array([1, 3, -1, 2], np.int32))
    source, out = make.source((1, 5, 6, 4), 0.05, 3), make.result((1, 3, 4, 2), 0.05, 3)
    make.file.operator("SLICE", (source, begin, size), (out,))


@case(
    steps={"span": ((0, 1, 0), (2, 6, 5), (1, 2, 3)), "shape": (2, 3, 2)},
    backwards={"span": ((0, -1, 4), (2, 0, 0), (1, -2, -1)), "shape": (2, 3, 4)},
    masked={"span": ((1, 1, 1), (2, 2, 2), (1, 1, 2)), "shape": (2, 1, 3), "masks": (5, 5, 0)},
    shrunk={"span": ((1, -2, 0), (2, -1, 5), (1, 1, 1)), "shape": (5,), "masks": (0, 0, 3)},
    first={"span": ((1, 2, 0), (2, 3, 5), (1, 1, 1)), "shape": (5,), "masks": (1, 0, 3)},
)
def strided_slice(
    make: Maker,
    span: tuple[tuple[int, ...], ...],
    shape: tuple[int, ...],
    masks: tuple[int, int, int] = (0, 0, 0),
) -> None:
    options = {"begin_mask": masks[0], "end_mask": masks[1], "shrink_axis_mask": masks[2]}
    _slice(make, span, shape, **options)


@case(
    few={"span": ((1,), (2,), (1,)), "shape": (1, 6, 5)},
    rest={"span": ((1, 0, 4), (2, 0, 0), (1, 1, -2)), "shape": (1, 6, 2), "ellipsis_mask": 2},
    new={"span": ((0, 1, 0), (0, 2, 3), (1, 1, 2)), "shape": (1, 1, 2, 5), "new_axis_mask": 1},
    lengths={"span": ((0, 2, 1), (2, 3, 4), (1, 1, 1)), "shape": (2, 3, 4), "offset": True},
)
def entries(
    make: Maker, span: tuple[tuple[int, ...], ...], shape: tuple[int, ...], **options: int | bool
) -> None:
    """Slices with other entries than one for each dimension, which only LiteRT has."""
    _slice(make, span, shape, **options)


def _slice(
    make: Maker, span: tuple[tuple[int, ...], ...], shape: tuple[int, ...], **options: int | bool
) -> None:
    operands = [make.source((2, 6, 5), 0.05, 3)]
    operands += [make.file.constant(np.array(part, np.int32)) for part in span]
    make.file.operator("STRIDED_SLICE", operands, (make.result(shape, 0.05, 3),), **options)


@case(few={"indices": (2, 0, 3)}, many={"indices": tuple(i * 7 % 4 for i in range(40))})
def gather(make: Maker, indices: tuple[int, ...]) -> None:
    chosen = make.file.constant(np.array(indices, np.int32))
    out = make.result((3, len(indices), 5), 0.05, 3)
    make.file.operator("GATHER", (make.source((3, 4, 5), 0.05, 3), chosen), (out,), axis=1)


@case(first={"axis": 1}, apart={"axis": 2})
def gather_in_batches(make: Maker, axis: int) -> None:
    chosen = make.file.constant(np.array([[2, 0], [1, 3], [0, 3]], np.int32))
    shape = (3, 2, 5) if axis == 1 else (3, 4, 2)
    options = {"axis": axis, "batch_dims": 1}
    source, out = make.source((3, 4, 5), 0.05, 3), make.result(shape, 0.05, 3)
    make.file.operator("GATHER", (source, chosen), (out,), **options)


@case(
    rows={"indices": ((2,), (0,), (2,))},
    apart={"indices": (((2, 3), (0, 1)), ((1, 0), (1, 1)))},
    elements={"indices": ((2, 3, 4), (0, 1, 0), (1, 2, 3))},
)
def gather_nd(make: Maker, indices: tuple[tuple[int, ...], ...]) -> None:
    places = np.array(indices, np.int32)
    chosen = make.file.constant(places)
    out = make.result((*places.shape[:-1], *(3, 4, 5)[places.shape[-1] :]), 0.05, 3)
    make.file.operator("GATHER_ND", (make.source((3, 4, 5), 0.05, 3), chosen), (out,))


@case(
    constant={"start": (1, 30, 0)},
    outside={"start": (-3, 99, 2)},
    row={"part": (2, 20, 3)},
    rows={},
    whole={"part": (2, 90, 3)},
)
def dynamic_update_slice(
    make: Maker, start: tuple[int, ...] | None = None, part: tuple[int, ...] = (1, 20, 2)
) -> None:
    """Places that are computed, some of them outside."""
    shape = (2, 90, 3)
    source, update = make.source(shape, 0.05, 3), make.source(part, 0.05, 3)
    if start is None:
        place = make.source((3,), None, dtype=np.int32)
    else:
        place = make.file.constant(np.array(start, np.int32))
    out = make.result(shape, 0.05, 3)
    make.file.operator("DYNAMIC_UPDATE_SLICE", (source, update, place), (out,))


@case(fill={"name": "FILL"}, zeros={"name": "ZEROS_LIKE"})
def filled(make: Maker, name: str) -> None:
    out = make.result((2, 3), 0.05, 3)
    if name == "FILL":
        shape = make.file.constant(np.array([2, 3], np.int32))
        operands = shape, make.source((), 0.05, 3)
    else:
        operands = (make.source((2, 3), 0.05, 3),)
    make.file.operator(name, operands, (out,))


@case()
def transpose(make: Maker) -> None:
    order = make.file.constant(np.array([0, 3, 1, 2], np.int32))
    source, out = make.source((1, 4, 5, 3), 0.05, 3), make.result((1, 3, 4, 5), 0.05, 3)
    make.file.operator("TRANSPOSE", (source, order), (out,))


@case(squeeze={"name": "SQUEEZE"}, expand_dims={"name": "EXPAND_DIMS"})
def ones(make: Maker, name: str) -> None:
    shapes = ((1, 4, 1, 3), (4, 3)) if name == "SQUEEZE" else ((4, 3), (4, 1, 3))
    operands = [make.source(shapes[0], 0.05, 3)]
    if name == "EXPAND_DIMS":
        operands.append(make.file.constant(np.array([1], np.int32)))
    make.file.operator(name, operands, (make.result(shapes[1], 0.05, 3),))


@case(to_depth={"name": "SPACE_TO_DEPTH"}, to_space={"name": "DEPTH_TO_SPACE"})
def depth(make: Maker, name: str) -> None:
    large, small = (1, 4, 6, 3), (1, 2, 3, 12)
    before, after = (large, small) if name == "SPACE_TO_DEPTH" else (small, large)
    source, out = make.source(before, 0.05, 3), make.result(after, 0.05, 3)
    make.file.operator(name, (source,), (out,), block=2)


@case(to_batch={"name": "SPACE_TO_BATCH_ND"}, to_space={"name": "BATCH_TO_SPACE_ND"})
def batch(make: Maker, name: str) -> None:
    is_split = name == "SPACE_TO_BATCH_ND"
    # Micro leaves undefined what it pads with.
    margins = [[0, 0], [0, 0]] if is_split else [[1, 0], [0, 2]]
    space = (1, 6, 6, 3) if is_split else (1, 5, 4, 3)
    batches = (6, 3, 2, 3)
    source = make.source(space if is_split else batches, 0.05, 3)
    block = make.file.constant(np.array([2, 3], np.int32))
    spans = make.file.constant(np.array(margins, np.int32))
    out = make.result(batches if is_split else space, 0.05, 3)
    make.file.operator(name, (source, block, spans), (out,))


@case()
def broadcast_to(make: Maker) -> None:
    shape = make.file.constant(np.array([2, 4, 3], np.int32))
    source, out = make.source((4, 1), 0.05, 3), make.result((2, 4, 3), 0.05, 3)
    make.file.operator("BROADCAST_TO", (source, shape), (out,))


@case()
def quantize_floats(make: Maker) -> None:
    source = make.source((4, 33), None, dtype=np.float32)
    make.file.operator("QUANTIZE", (source,), (make.result((4, 33), 0.05, -3),))


@case()
def dequantize(make: Maker) -> None:
    source, out = make.source((4, 33), 0.0513, 3), make.result((4, 33), None, dtype=np.float32)
    make.file.operator("DEQUANTIZE", (source,), (out,))


@case()
def cast(make: Maker) -> None:
    source, out = make.source((4, 33), 0.05, 3), make.result((4, 33), None, dtype=np.int32)
    make.file.operator("CAST", (source,), (out,))
