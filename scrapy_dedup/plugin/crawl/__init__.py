"""What the components of one crawl share: requests, items and pages on their way, and when they are safe."""
