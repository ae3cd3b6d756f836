"""Helpers shared by the tests: toy graphs, and running graphs on native code and simulators."""
