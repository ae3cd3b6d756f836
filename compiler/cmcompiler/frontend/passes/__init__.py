"""Passes over exported and edge programs, beside those of ExecuTorch's backend."""
