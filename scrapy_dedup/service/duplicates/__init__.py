"""A page beside the other pages of its project: aliases, duplicates, chunks, claims of workers."""
