"""From a request to stages, performed in order, and their results."""
