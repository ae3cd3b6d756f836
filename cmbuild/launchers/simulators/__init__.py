"""The launchers that `--launcher` names, one a module."""
