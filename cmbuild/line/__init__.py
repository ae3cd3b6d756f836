"""The line to a real board: frames, messages, the port, and the conversation over it."""
