"""The suffixes of files that models come in."""

PTE, TFLITE = ".pte", ".tflite"

PROGRAMS = (PTE, TFLITE)
"""Suffixes of quantised programs, which need no export."""

MODELS = (".py", ".pt2", *PROGRAMS)
