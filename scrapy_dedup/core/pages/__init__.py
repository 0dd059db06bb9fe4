"""From HTML to blocks, and from blocks back to text, HTML and Markdown."""
