"""Which URLs are one page, what their parts mean, and where they lead."""
