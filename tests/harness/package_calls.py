"""What each function of a package returns in each state of its context: the caller's mistakes."""

from __future__ import annotations

import numpy as np

from cmcompiler.ir.graph import Graph, MutableBuffer, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window

INT8 = np.dtype(np.int8)

STATES = {
    "null": "`NULL`",
    "never": "never bound",
    "failed": "after an `init` that failed",
    "ready": "bound, or after a run",
    "waiting": "waits for rows",
    "hook": "in a hook of its run",
}

_UNBOUND = ("NO_CONTEXT",) * 3
_NULLS = ("NULL",) * 3

# A row for each call; a column for each of STATES.
CALLS: dict[str, tuple[str, ...]] = {
    "kws_init": ("NO_CONTEXT", "OK", "OK", "OK", "OK", "OK"),
    "kws_init, no arena": ("NO_CONTEXT", *("NO_ARENA",) * 5),
    "kws_init, a byte too few": ("NO_CONTEXT", *("ARENA_TOO_SMALL",) * 5),
    "kws_init, arena not aligned": ("NO_CONTEXT", *("ARENA_MISALIGNED",) * 5),
    "kws_reset": (*_UNBOUND, "OK", "OK", "OK"),
    "kws_set_hook": (*_UNBOUND, "OK", "OK", "OK"),
    "kws_on_rows": (*_UNBOUND, "OK", "OK", "OK"),
    "kws_run, inputs whole": (*_UNBOUND, "OK", "–", "BUSY"),
    "kws_run, `--feed rows`": (*_UNBOUND, "WAITING", "WAITING", "BUSY"),
    "kws_push_rows_X, some": (*_UNBOUND, "WAITING", "WAITING", "BUSY"),
    "kws_push_rows_X, the last": (*_UNBOUND, "–", "OK", "BUSY"),
    "kws_push_rows_X, more than all": (*_UNBOUND, "TOO_MANY_ROWS", "TOO_MANY_ROWS", "BUSY"),
    "kws_push_rows_X, not this input's turn": (*_UNBOUND, "OTHER_INPUT", "OTHER_INPUT", "BUSY"),
    "kws_push_rows_X, rows NULL": (*_UNBOUND, "NO_ROWS", "NO_ROWS", "BUSY"),
    "kws_input_X": (*_NULLS, "its place", "–", "its place"),
    "kws_output_Y": (*_NULLS, "its place", "its place", "its place"),
    "kws_output_Y_class": (*("UINT32_MAX",) * 3, "a class", "a class", "a class"),
    "kws_vectors_load": (*_UNBOUND, "OK", "OK", "OK"),
    "kws_vectors_load, no such sample": (*_UNBOUND, "NO_SAMPLE", "NO_SAMPLE", "NO_SAMPLE"),
    "kws_vectors_check": (*("UNCHECKED",) * 3, "compares", "compares", "compares"),
    "kws_vectors_check, no such sample": ("UNCHECKED",) * 6,
}


def table() -> tuple[list[str], list[list[str]]]:
    """Header and rows for the documents; statuses without their prefix."""
    rows = []
    for call, results in CALLS.items():
        function, comma, rest = call.partition(",")
        rows.append([f"`{function}`{comma}{rest}", *map(_shown, results)])
    return ["call", *STATES.values()], rows


def _shown(result: str) -> str:
    return f"`{result}`" if result.isupper() else result


def two_inputs_with_state() -> Graph:
    """Two images that can be fed, one after the other: the pool of the first can be handed out; the
    largest numbers of the second one, and those of the run before, are the other output.
    """
    first, second = Tensor("input_0", INT8, (1, 4, 3, 2)), Tensor("input_1", INT8, (1, 3, 3, 2))
    pooled, total = Tensor("pooled", INT8, (1, 3, 2, 2)), Tensor("total", INT8, (1, 1, 1, 2))
    kept, final = Tensor("kept", INT8, total.shape), Tensor("final", INT8, total.shape)
    both = Tensor("both", INT8, (1, 1, 1, 4))
    pieces = tuple(
        Piece(i, Strided.dense(total.shape), Strided.dense(both.shape).slice(3, 2 * i, 2))
        for i in range(2)
    )
    small = MaxPool2d(Window((2, 2)), pooled.shape, Range(-128, 127))
    whole = MaxPool2d(Window((3, 3)), total.shape, Range(-128, 127))
    nodes = (
        Node(small, (first,), (pooled,), "pool #0"),
        Node(whole, (second,), (total,), "pool #1"),
        Node(Copy("cat", INT8, both.shape, pieces), (total, kept), (both,), "cat #2"),
        Node(Store(), (kept, total), (final,), "store #3"),
    )
    ports = [
        Port(name, tensor, tensor.shape, (0, 1, 2, 3))
        for name, tensor in (
            ("input_0", first),
            ("input_1", second),
            ("output_0", pooled),
            ("output_1", both),
        )
    ]
    state = MutableBuffer(kept, final, np.full(total.shape, -7, np.int8))
    return Graph("calls", nodes, tuple(ports[:2]), tuple(ports[2:]), (state,))
