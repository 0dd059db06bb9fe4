"""The container's image is built from a checkout, which may have been worked in."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "docs" / "deploy"


def test_image_is_built_from_what_it_needs_and_from_nothing_else():
    """In a checkout that was worked in there are environments, stores and feeds, which others would be given."""
    copied = re.findall(r"cp (?:-r )?(\S+)", (DEPLOY / "Dockerfile").read_text())
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    said = (ROOT / "setup.cfg").read_text()
    files = {"pyproject.toml", "setup.cfg", *re.findall(r"README.md|LICENSE", said), *copied} - {"example_project"}

    assert "*" in lines
    # Crawls of the example leave their feeds beside its scrapy.cfg.
    assert allowed == {"scrapy_dedup", "example_project/example", "example_project/scrapy.cfg", *files}
    assert "example_project" in copied
    assert all((ROOT / name).exists() for name in allowed)
