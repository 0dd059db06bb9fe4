"""Databases: how they are opened, checked, moved to the present schema, and copied."""
