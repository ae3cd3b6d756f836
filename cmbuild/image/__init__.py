"""Firmware images: ELF files, sizes, checks before a launch, files for programmers."""
