"""What a crawl asks and tells the registry of domains."""
