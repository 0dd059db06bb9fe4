"""Title, date and author of a page."""
