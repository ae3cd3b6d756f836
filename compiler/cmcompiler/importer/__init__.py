"""From a program to a graph."""
