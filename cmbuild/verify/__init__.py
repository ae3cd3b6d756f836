"""Samples, and outputs compared with the reference."""
