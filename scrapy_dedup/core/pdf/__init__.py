"""What a PDF says, from lines on its pages to blocks in reading order."""
