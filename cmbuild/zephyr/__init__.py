"""Zephyr's own build system, driven from here."""
