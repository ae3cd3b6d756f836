"""The suffixes of files that models come in."""

TFLITE = ".tflite"
PROGRAMS = (".pte", TFLITE)
"""Of quantised programs, which need no export."""

MODELS = (".py", ".pt2", *PROGRAMS)
