"""Cycles of an image: a simulator counts blocks, a model of the core says what each takes."""
