"""The stages from a model to a verified run, one module each."""
