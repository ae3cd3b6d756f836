"""ExecuTorch's own tests of its Cortex-M backend, run on boards of cmbuild's."""
