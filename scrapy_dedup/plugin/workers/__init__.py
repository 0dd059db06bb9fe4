"""A queue in Redis that several workers share."""
