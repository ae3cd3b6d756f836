"""Whatever executes an image: simulators, this computer, a board on a serial port."""
