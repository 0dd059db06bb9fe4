"""Stored pages that go out again, through a project's pipelines and feeds."""
