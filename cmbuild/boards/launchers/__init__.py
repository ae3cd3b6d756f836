"""Launchers: ways to get an image executed, one module each."""
