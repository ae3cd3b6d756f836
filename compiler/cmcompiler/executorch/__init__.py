"""Programs as ExecuTorch's own runtime runs them: their plan, checks and files."""
