"""The ways to flash that `--method` names, one a module."""
