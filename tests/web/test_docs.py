"""docs/rest.md: its table is that of the routes, its examples are run."""

import os
import re
import subprocess
from pathlib import Path

from scrapy_dedup.web.openapi import page_with_table, rest_description
from tests.commands.running import Shop
from tests.commands.verbs.test_serve import serving_in
from tests.web.served import Served

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"


def test_the_table_is_that_of_the_routes():
    page = PAGE.read_text(encoding="utf-8")

    assert page_with_table(page, rest_description()) == page, "run `make docs`"


def test_the_examples_run(served: Served, tmp_path: Path):
    """The fixture left its store in the folder."""
    (example,) = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shop = Shop(tmp_path)
    with serving_in(tmp_path, *shop.settings) as (_, printed):
        environment = {"API_URL": printed["api"].removesuffix("/api/v1/"), "TOKEN": printed["token"]}
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", example],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert '"state":"waiting"' in ran.stdout
    assert '"blacklist_reason":"spam"' in ran.stdout
