"""Pages that are shown to a browser, in a crawl or in a run of their own."""
