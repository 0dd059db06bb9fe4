"""Runs: their totals over workers and layers, alarms, and what a supervisor does at their end."""
