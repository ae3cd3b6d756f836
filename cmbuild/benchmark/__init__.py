"""Models times boards, and the measured cost of ExecuTorch's own runtime."""
