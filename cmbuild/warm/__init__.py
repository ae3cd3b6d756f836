"""Exports by a process that has imported torch already."""
