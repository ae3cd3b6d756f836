"""Groups of ops that run in turns, a few rows each, with rings of rows between them."""
