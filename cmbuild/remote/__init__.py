"""A cache that machines share: results that one has made, checked when they arrive at another."""
