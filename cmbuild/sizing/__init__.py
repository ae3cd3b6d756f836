"""Which models fit which boards, without building an image."""
