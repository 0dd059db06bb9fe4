"""What a crawl asks of its project: layouts and templates, other pages, parameters of URLs."""
