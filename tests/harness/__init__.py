"""Test helpers: toy graphs, and running graphs natively and on simulators."""
