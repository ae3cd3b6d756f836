"""Instructions, roughly: of nodes, and of computing them in bands of rows."""
