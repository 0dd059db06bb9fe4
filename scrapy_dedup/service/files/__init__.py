"""Pages from files to clean pages: what `scrapy dedup clean` does."""
