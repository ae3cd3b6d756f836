"""The second verdict: every layer of an exported program against the float model."""
