"""Launchers execute images: simulators, this computer, a board on a serial port."""
