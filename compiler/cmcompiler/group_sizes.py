"""Sizes of groups of weights that share a scale; needs nothing else, as commands start with it."""

SIZES = (32, 64, 128)
"""Depths of a group."""
