"""The cache, pages cleaned again, what is forgotten, and what is left over."""
