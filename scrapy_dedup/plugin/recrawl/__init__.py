"""What earlier crawls left: outcomes of callbacks that may stand in for them, pages that are gone."""
