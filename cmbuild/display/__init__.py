"""How results show themselves in a notebook, and what of them is for screens alone."""
