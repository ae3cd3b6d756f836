"""Compilers and other tools: where they are, and what they are told."""
