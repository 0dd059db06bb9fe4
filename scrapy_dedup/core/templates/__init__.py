"""Layouts of a domain, and the templates by which their pages are cut."""
