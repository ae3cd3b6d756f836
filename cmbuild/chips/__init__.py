"""Chips by name: their core and memory."""
