"""Constants shared by plans and cmrt/program.h."""

SLACK = 64
"""CM_SLACK of cmrt/program.h: bytes readable past the end of the arena and the constants."""

BRANCH = "branch"
"""Replaces the kernel's name in a branch step."""

REF_CONSTANT = 0x80000000
"""CM_REF_CONSTANT of cmrt/program.h."""
