"""ExecuTorch's own runtime, built from the user's checkout: the other executor."""
