"""From a plan to C source, and the files beside it."""
