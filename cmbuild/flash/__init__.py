"""Firmware onto real boards: the files that programmers take, and the ways to hand them over."""
