"""The flash methods that `--method` names, one per module."""
