"""What people decided about sites."""
