"""A page's clean text as chunks, and the languages they are in."""
