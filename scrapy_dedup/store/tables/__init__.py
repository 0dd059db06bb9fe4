"""The tables, and what their columns mean on every database."""
