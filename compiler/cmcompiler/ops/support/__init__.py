"""Arithmetic, windows, packing and loops that several operators share."""
