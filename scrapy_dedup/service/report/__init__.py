"""Figures of a project or of a run: report, ledger, dashboard."""
