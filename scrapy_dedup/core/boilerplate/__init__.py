"""What of a page is content and what is boilerplate: features, the trained model, a verdict per DOM path."""
