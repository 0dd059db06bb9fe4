"""What a crawl knows of its way through a site, and the supervisor of crawls."""
