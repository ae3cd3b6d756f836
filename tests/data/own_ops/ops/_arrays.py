"""A module that others of the folder import, and that is no op itself."""

from cmcompiler.ir.op import Array


def scaled(x: Array, factor: float) -> Array:
    result: Array = x * x.dtype.type(factor)
    return result
