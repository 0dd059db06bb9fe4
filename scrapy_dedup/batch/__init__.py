"""Whole corpora on Spark: the same as `scrapy dedup clean`, by as many machines as there are.

What executors run is `steps`, and what it imports: no Scrapy, no database. `run` and its siblings are the driver's.
"""
