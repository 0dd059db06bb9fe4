"""How a crawl finds all pages of a site, walks into no trap, and notices that it stalls."""
