"""Passes over exported and edge programs, in addition to the backend's."""
