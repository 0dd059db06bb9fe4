"""What is known of pages, domains and templates, as REST, MCP, dashboard and commands show it."""
