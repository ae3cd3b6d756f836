"""From a graph to a device's kernel calls and memory layout."""
