import numpy as np
import pytest

from cmcompiler.ops.support.odd_rows import are_odd, ordered


@pytest.mark.parametrize(
    ("shape", "is_odd"),
    [((3, 3, 3), True), ((3, 5, 1), True), ((3, 3, 4), False), ((5, 3, 3), False)],
)
def test_rows_of_one_byte_more_than_words(shape: tuple[int, ...], is_odd: bool) -> None:
    assert are_odd(np.zeros((2, *shape), np.int8)) == is_odd


def test_last_bytes_follow_all_words() -> None:
    weights = np.arange(27, dtype=np.int8).reshape(1, 3, 3, 3)
    expected = [*range(8), *range(9, 17), *range(18, 26), 8, 17, 26]
    assert ordered(weights).tolist() == [expected]
