"""The toolchains that `--toolchain` names, one a module; each needs the standard library alone."""
