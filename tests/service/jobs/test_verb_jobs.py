"""Commands that jobs run: their processes."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from scrapy_dedup.service.jobs.jobs import _started


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are those of POSIX")
def test_a_signal_at_the_terminal_does_not_reach_the_command(tmp_path: Path):
    """It would get a second one when its job is cancelled, of which a crawl ends without what it holds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = "import os; print(os.getpgrp())"
        with _started([sys.executable, "-c", code], tmp_path, out, err) as process:
            process.wait(60)
        out.seek(0)

        assert int(out.read()) == process.pid != os.getpgrp()
