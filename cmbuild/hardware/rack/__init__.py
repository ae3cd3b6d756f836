"""Boards in a rack, which labgrid's coordinator lends to one user at a time."""
