"""From the bytes of a `.pte` file to a typed program, without torch or ExecuTorch."""

from cmcompiler.pte.program import (
    Allocation,
    Instruction,
    JumpFalseCall,
    KernelCall,
    Method,
    MoveCall,
    Program,
    RefusedMethod,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.reader import read_program

__all__ = [
    "Allocation",
    "Instruction",
    "JumpFalseCall",
    "KernelCall",
    "Method",
    "MoveCall",
    "Program",
    "RefusedMethod",
    "TensorList",
    "TensorValue",
    "Value",
    "read_program",
]
