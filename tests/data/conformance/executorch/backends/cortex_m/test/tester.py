"""A small suite in place of ExecuTorch's: its folder is found before the real one's."""
