"""The cache of a project: content index, extractions, and both as files."""
