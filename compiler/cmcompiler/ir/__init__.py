"""The typed graph: tensors, nodes, and the contract of an op."""
