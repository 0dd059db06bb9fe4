"""Whether two pages are one: by title, text, most of the text, and by the fields of their items."""
