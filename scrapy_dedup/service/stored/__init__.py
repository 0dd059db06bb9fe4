"""Work on stored pages, without a crawl: analyses, mining, refining, upkeep of templates."""
