"""Constants are aligned, stored once, and followed by slack."""

from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.constants import ConstantPool
from cmcompiler.plan.plan import Base

packed = st.tuples(st.binary(max_size=40), st.sampled_from([1, 2, 4, 8, 16]))


@given(st.lists(packed, max_size=30))
def test_every_constant_is_where_its_ref_says(items: list[tuple[bytes, int]]) -> None:
    pool = ConstantPool()
    refs = [pool.add(data, align) for data, align in items]
    block = pool.bytes()
    for ref, (data, align) in zip(refs, items, strict=True):
        assert ref.base is Base.CONSTANTS
        assert ref.offset % align == 0
        assert block[ref.offset : ref.offset + len(data)] == data
        assert ref.offset + len(data) + SLACK <= len(block)


def test_equal_bytes_are_stored_once_even_at_a_lower_alignment() -> None:
    pool = ConstantPool()
    assert pool.add(b"weights", 16) == pool.add(b"weights", 4) == pool.add(b"weights", 16)
    assert len(pool.bytes()) == len(b"weights") + SLACK
