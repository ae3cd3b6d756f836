"""ExecuTorch's own runtime, from a checkout of the user: an executor beside the static one."""
