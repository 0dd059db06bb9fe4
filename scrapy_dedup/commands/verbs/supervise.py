"""`scrapy dedup supervise -- COMMAND`: run a crawl, and start it again when it hangs, has stalled or dies.

It hangs when its reactor has not turned for --hung-after seconds; it has stalled when it ends with exit code 75, as
DEDUP_STALL = {"action": "exit"} makes it. With a JOBDIR it goes on where it was. Ctrl-C ends both in good order. The
command's output passes through; what the supervisor does is told on standard error, a line each time.

JSON: `exit_code` and `reason` of the last run, `restarts` (the cause of each); the command's standard output goes to
standard error then.

The exit code is the last run's; 128 and the number of the signal where it died by one.
"""

import argparse
import sys
from datetime import timedelta

from scrapy_dedup.commands.call import Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import one_line
from scrapy_dedup.core.resilience.stalls import SupervisionPolicy
from scrapy_dedup.service.supervising import Supervisor, Watching

_MOST_SECONDS = 7 * 86_400.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add when and how often the command is started again, and the command."""
    add = parser.add_argument
    policy, watching = SupervisionPolicy(), Watching()
    add(
        "--hung-after",
        metavar="SECONDS",
        type=_seconds,
        default=watching.hung_after,
        help=f"it hangs when it shows no sign of life for so long ({watching.hung_after.total_seconds():g})",
    )
    add(
        "--grace",
        metavar="SECONDS",
        type=_seconds,
        default=watching.grace,
        help="how long SIGINT, and then SIGTERM, have to end what hangs"
        f" ({watching.grace.total_seconds():g}), before it is killed",
    )
    add(
        "--restarts",
        metavar="N",
        type=_count,
        default=policy.restarts,
        help=f"start it again at most so often within the window ({policy.restarts})",
    )
    add(
        "--window",
        metavar="SECONDS",
        type=_seconds,
        default=policy.window,
        help=f"restarts that are longer ago do not count ({policy.window.total_seconds():g})",
    )
    add(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="what to run, such as: scrapy crawl NAME -s JOBDIR=jobs/NAME",
    )


def run(call: Call) -> int:
    """Run the command until it has ended for good."""
    options = call.options
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise WrongCallError(
            "which command? For example: scrapy dedup supervise -- scrapy crawl NAME -s JOBDIR=jobs/NAME"
        )
    if not any("JOBDIR=" in word for word in command) and not call.source.get("JOBDIR"):
        _tell("neither the command nor the project sets JOBDIR: each restart begins anew")
    policy = SupervisionPolicy(restarts=options.restarts, window=options.window)
    watching = Watching(options.hung_after, options.grace)
    output = sys.stderr if options.json else None
    try:
        done = Supervisor(command, policy, watching, _tell, output).run()
    except OSError as error:
        raise CommandError(f"{command[0]} cannot be started: {error}") from error
    if done.restarts or done.exit_code:
        _tell(f"{done.reason}: exit code {done.exit_code}, started again {len(done.restarts)} times")
    if options.json:
        print_json({"exit_code": done.exit_code, "reason": done.reason, "restarts": done.restarts})
    return done.exit_code


def _seconds(given: str) -> timedelta:
    seconds = float(given)
    if not 0 < seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{given}: needs seconds, above 0 and at most a week")
    return timedelta(seconds=seconds)


def _count(given: str) -> int:
    count = int(given)
    if not 0 <= count <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{given}: needs a number, 0 or more")
    return count


def _tell(line: str) -> None:
    sys.stderr.write(f"scrapy dedup supervise: {one_line(line, 1_000)}\n")
    sys.stderr.flush()
