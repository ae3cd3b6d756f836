"""Images that come and leave row by row."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.ir.op import DRAIN, FEED, RingRows
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed

IMAGE = Tensor("x", np.dtype(np.int8), (1, 6, 4, 3))


@pytest.mark.parametrize("op", [Feed(2, IMAGE.shape), Drain(2)])
def test_each_row_is_that_of_the_image(op: Feed | Drain) -> None:
    flat = np.arange(72, dtype=np.int8)
    image = flat.reshape(IMAGE.shape)
    given = flat if isinstance(op, Feed) else image
    np.testing.assert_array_equal(op.reference(given)[0], image)
    (call,) = op.kernel_calls((IMAGE,), (IMAGE,), Isa.SCALAR)
    words = dict(call.arguments)
    assert call.kernel == (FEED if isinstance(op, Feed) else DRAIN)
    assert (words["row_bytes"], call.rows) == (12, (0, 6))
    assert next(iter(words.values())) == 2
    assert words["ring"] == RingRows(IMAGE)
    (row_call,) = op.row_calls((IMAGE,), (IMAGE,), Isa.SCALAR)
    assert set(row_call.reads) == (set() if isinstance(op, Feed) else {IMAGE})
