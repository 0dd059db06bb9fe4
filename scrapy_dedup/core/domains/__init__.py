"""Domains: names, states, which of them are asked, and candidates from search engines."""
