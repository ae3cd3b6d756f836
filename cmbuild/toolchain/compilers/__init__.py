"""The toolchains that `--toolchain` names, one per module; each needs only the standard library."""
