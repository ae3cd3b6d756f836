"""Decodes the instructions of a program for the readers of its operators."""

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import program_op

__all__ = ["Call", "program_op"]
