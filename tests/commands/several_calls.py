"""Several commands in one process: `python -m tests.commands.several_calls JSON` prints how each ended.

Java, once started, serves all of them.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from scrapy.cmdline import execute


def outcome_of(arguments: list[str]) -> dict[str, object]:
    """Return how a command ended, with what it wrote."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        sys.argv = arguments
        try:
            execute(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    print(json.dumps([outcome_of(arguments) for arguments in json.loads(sys.argv[1])]))  # noqa: T201
