"""Timing models, one file a core or family."""
