"""A browser without a network that shows pages as people see them; optional, extra `[teacher]`."""
