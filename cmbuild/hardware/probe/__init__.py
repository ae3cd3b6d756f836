"""Debug probes: their programs' gdb servers, and what is flashed and run through these."""
