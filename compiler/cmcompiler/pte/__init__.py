"""From the bytes of a `.pte` file to a typed program, without torch or ExecuTorch."""
