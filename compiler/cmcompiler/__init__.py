"""The compiler core: PyTorch module to program, program to plan, plan to C."""
