"""Spiders of benchmarks.matrix: each is copied into a folder of its own, and runs where this package is not."""
