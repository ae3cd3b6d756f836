"""Labelled samples to evaluate models on."""
