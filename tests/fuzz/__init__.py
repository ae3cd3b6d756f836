"""Mutated programs through the whole compiler and native code: refused in one line, or right."""
