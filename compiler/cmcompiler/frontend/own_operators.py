"""The compiler's own int8 operators, declared for torch as the readers of programs declare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cmcompiler.decode.registry import operators

if TYPE_CHECKING:
    from torch import Tag


def declare(library: Any, *names: str, tags: Sequence[Tag] = ()) -> None:
    """Declares operators whose readers are in cmcompiler.ops: those that return their outputs, and
    those that write to tensors they are given.

    Args:
        library: of torch, for the namespace `cmbuild`.
        names: without the namespace, `quantized_sum`.
        tags: of the operators that return their outputs.
    """
    for name in names:
        schema = operators()[f"cmbuild::{name}.out"].schema
        library.define(schema.functional, tags=tuple(tags))
        library.define(schema.with_outputs)
