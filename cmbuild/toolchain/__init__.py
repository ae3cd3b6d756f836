"""Compilers and CMake: finding them, and building with them."""
