"""Passes over the exported graph before quantisation, each exact in float."""
