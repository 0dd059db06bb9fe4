"""Extensions that find a site's pages, keep out of traps, and notice that a crawl stalls."""
