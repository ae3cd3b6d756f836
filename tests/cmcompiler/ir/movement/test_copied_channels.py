"""Which copies keep channels side by side, and copies of some of them."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.ir.channels import Bounds, Channels
from cmcompiler.ir.movement.copied_channels import CopyRule
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.tensor import Tensor

INT8 = np.dtype(np.int8)
SHAPE = (1, 3, 4, 6)
DENSE = Strided.dense(SHAPE)


def rule_of(shape: tuple[int, ...], reads: Strided, writes: Strided) -> CopyRule | None:
    op = Copy("copy", INT8, shape, (Piece(0, reads, writes),), fill=5)
    rule = op.channel_rule((Tensor("x", INT8, SHAPE),), (Tensor("y", INT8, shape),))
    assert rule is None or isinstance(rule, CopyRule)
    return rule


@pytest.mark.parametrize(
    ("reads", "writes", "shape"),
    [
        (DENSE.flip(3), DENSE, SHAPE),
        (DENSE.permute((0, 1, 3, 2)), Strided.dense((1, 3, 6, 4)), (1, 3, 6, 4)),
        (DENSE.slice(3, 0, 3, 2), Strided.dense((1, 3, 4, 3)), (1, 3, 4, 3)),
    ],
    ids=["channels turned around", "channels and columns exchanged", "every second channel"],
)
def test_other_copies_have_no_rule(reads: Strided, writes: Strided, shape: tuple[int, ...]) -> None:
    assert rule_of(shape, reads, writes) is None


@pytest.mark.parametrize(
    ("reads", "writes", "shape"),
    [
        (DENSE.flip(1), DENSE, SHAPE),
        (DENSE.slice(3, 1, 4), Strided.dense((1, 3, 4, 4)), (1, 3, 4, 4)),
        (DENSE.slice(3, 2, 1), Strided.dense((1, 3, 4, 1)), (1, 3, 4, 1)),
        (DENSE, Strided.dense((1, 5, 4, 9)).slice(1, 1, 3).slice(3, 2, 6), (1, 5, 4, 9)),
        (DENSE.permute((0, 2, 1, 3)), Strided.dense((1, 4, 3, 6)), (1, 4, 3, 6)),
    ],
    ids=["rows turned", "some channels", "one channel", "padding", "rows for columns"],
)
def test_a_copy_of_the_kept_channels_gives_their_numbers(
    reads: Strided, writes: Strided, shape: tuple[int, ...]
) -> None:
    rule = rule_of(shape, reads, writes)
    assert rule is not None
    chance = np.random.default_rng(0)
    image = chance.integers(-128, 128, SHAPE).astype(np.int8)
    (whole,) = Copy("copy", INT8, shape, tuple(rule.pieces), 5).reference(image)
    bounds = [Bounds.every(6)]
    for _ in range(8):
        (tie,) = rule.ties
        made, source = chance.random(shape[-1]) < 0.6, np.zeros(6, np.bool_)
        made[tie.written[0]] = True
        source[tie.read] = made[tie.written]
        output = Channels(rule.bounds(bounds), made)
        part = rule.pruned([Channels(bounds[0], source)], output)
        (actual,) = part.reference(image[..., source])
        np.testing.assert_array_equal(actual, whole[..., made])
