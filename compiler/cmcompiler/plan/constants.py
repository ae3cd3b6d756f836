"""The constant block of a plan; equal bytes are stored once."""

from __future__ import annotations

from cmcompiler.errors import Unsupported
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Base, Ref

LIMIT = 0x7FFFFFFF
"""Upper limit of constant offsets: cm_ref has 31 bits, and all ones is CM_REF_NONE."""


class ConstantPool:
    """Collects constants; the block itself is aligned to 16 bytes."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._offsets: dict[tuple[bytes, int], int] = {}

    def add(self, data: bytes, align: int = 16) -> Ref:
        """The place of `data`, at a multiple of `align`.

        Raises:
            Unsupported: the constants reach 2 GiB.
        """
        offset = self._offsets.get((data, align))
        if offset is None:
            self._data += bytes(-len(self._data) % align)
            offset = len(self._data)
            self._data += data
            if len(self._data) + SLACK >= LIMIT:
                raise Unsupported("the constants of the program need 2 GiB or more")
            for smaller in (1, 2, 4, 8, 16):
                if smaller <= align:
                    self._offsets.setdefault((data, smaller), offset)
        return Ref(Base.CONSTANTS, offset)

    def bytes(self) -> bytes:
        """All constants, with SLACK bytes after the last."""
        return bytes(self._data) + bytes(SLACK)
