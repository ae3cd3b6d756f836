"""Precision by need: the cheapest mix of types that keeps what a user asks for."""
