"""The launchers that `--launcher` names, one per module."""
