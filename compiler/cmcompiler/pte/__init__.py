"""Reads a `.pte` file into a typed program, without torch or ExecuTorch."""
