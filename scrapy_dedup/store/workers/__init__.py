"""Workers that share one run, and what they claim."""
