"""From a graph to the kernel calls and memory layout of a device."""
