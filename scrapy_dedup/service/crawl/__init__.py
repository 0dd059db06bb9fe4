"""One crawl, from its pages to what is emitted and written; knows nothing of Scrapy."""
