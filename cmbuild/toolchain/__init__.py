"""Compilers and CMake: which there are, where they are, and how they build."""
