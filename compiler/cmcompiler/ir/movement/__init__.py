"""Ops that move or rename data without computing: views, copies, transposes."""
