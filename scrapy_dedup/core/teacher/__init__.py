"""What a browser shows of a page, and which of its text looks like content."""
