"""What a visit comes to: verdicts, deliveries, removed pages."""
