"""Boards: their folders, where those are found, and what their descriptors say."""
