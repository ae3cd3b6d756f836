"""Constants shared by plans and cmrt/program.h."""

SLACK = 64
"""CM_SLACK of cmrt/program.h: bytes readable past the end of the arena and the constants."""

BRANCH = "branch"
STREAM = "stream"
"""Replace the kernel's name in steps that steer those that follow."""

CONTROL_BRANCH, CONTROL_STREAM, CONTROL_FEED, CONTROL_DRAIN, CONTROL_TILES, CONTROL_AGAIN = range(6)
"""enum cm_control of cmrt/program.h."""

MOST_MOVED_WORDS = 48
"""CM_MOVED_WORDS of cmrt/program.h."""

REF_CONSTANT = 0x80000000
"""CM_REF_CONSTANT of cmrt/program.h."""

REF_NONE = 0xFFFFFFFF
"""CM_REF_NONE of cmrt/program.h."""
