"""ExecuTorch's own tests of its Cortex-M backend, run on cmbuild's boards."""
