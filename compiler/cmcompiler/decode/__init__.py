"""Decodes the instructions of a program for the readers of its operators."""
