"""Whether a page is fetched again, whether it changed, and what is kept of its items."""
