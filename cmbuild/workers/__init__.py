"""Work in units that this process or a cluster of workers performs, each failing alone."""
