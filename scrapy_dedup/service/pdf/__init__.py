"""PDF files as pages, read in a process of their own."""
