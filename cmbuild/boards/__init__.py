"""Boards: what a folder says of one, where the folders are, and how images get executed."""
