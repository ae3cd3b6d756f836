"""One instruction of a program, as the reader of its operator sees it."""
