"""Runs: operators in a row that a stream computes as one stage, in tiles of columns."""
