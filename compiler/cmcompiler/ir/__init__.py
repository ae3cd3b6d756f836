"""The typed graph: tensors, nodes, and the interface of an op."""
