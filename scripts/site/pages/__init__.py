"""One module for each page of the reference; each has `page()`, its Markdown."""
