"""Selectors and expressions that people wrote for a site."""
