"""What is known of a site: learned from a sample, kept in the store, and recalled."""
