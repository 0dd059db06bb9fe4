"""What is remembered between pages, runs and projects: SQLAlchemy 2 on SQLite or PostgreSQL."""
