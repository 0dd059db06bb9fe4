"""The registry of domains, and candidates."""
