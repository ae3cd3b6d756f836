"""From a plan to C source and its companion files."""
