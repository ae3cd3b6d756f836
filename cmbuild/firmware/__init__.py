"""Libraries and images of a board: built by CMake, and whether a plan fits in its memory."""
