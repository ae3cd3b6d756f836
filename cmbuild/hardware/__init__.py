"""Real boards: flashing them, and the serial protocol of their runner."""
