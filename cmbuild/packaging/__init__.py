"""Packages of models: which sources belong to them, under which names, in which layout."""
