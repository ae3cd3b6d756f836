"""The report of a run as one HTML file, which needs neither network nor scripts."""
