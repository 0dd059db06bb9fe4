"""A domain that is learned while its crawl goes on."""
