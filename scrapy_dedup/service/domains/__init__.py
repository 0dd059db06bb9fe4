"""The registry of domains: runs, twins, files, candidates."""
