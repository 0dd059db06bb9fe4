"""How `make docs` builds these pages as a site: offline, from the files as they are."""

from importlib import metadata

project = "scrapy-dedup"
author = "scrapy-dedup maintainers"
release = metadata.version("scrapy-dedup")

extensions = ["myst_parser"]
exclude_patterns = ["deploy"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
