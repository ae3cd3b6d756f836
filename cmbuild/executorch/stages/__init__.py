"""The stages that build and run ExecuTorch's own runtime."""
