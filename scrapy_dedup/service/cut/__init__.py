"""One page to its clean text, and the reasons for what was removed."""
