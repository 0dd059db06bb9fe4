"""Outcomes that stand in for callbacks, and pages that are gone."""
