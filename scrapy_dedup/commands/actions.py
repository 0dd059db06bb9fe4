"""Verbs that have actions: `scrapy dedup VERB ACTION TARGET...`."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scrapy_dedup.commands.call import Call, WrongCallError


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done, what it takes, and how many of it; most is None without a limit.

    Attributes:
        options: those of the verb that it knows, by their names in the namespace.
    """

    run: Callable[[Call], int]
    takes: str
    least: int
    most: int | None
    options: frozenset[str] = frozenset()


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, Action]) -> None:
    """Add the actions and their targets; what belongs together is checked when one runs."""
    # Python 3.11 gives what stands after an option to no positional of this kind otherwise.
    parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
    add = parser.add_argument
    add("action", nargs="?", choices=tuple(actions), help="what to do")
    add("targets", nargs="*", metavar="TARGET", help="; ".join(f"{name}: {one.takes}" for name, one in actions.items()))


def run_action(call: Call, verb: str, actions: Mapping[str, Action], words: Mapping[str, str]) -> int:
    """Do what was asked for, and return the exit code.

    Args:
        call: with the action, its targets and options.
        verb: as errors name it.
        actions: by name.
        words: the verb's options as people write them, by their names in the namespace.

    Raises:
        WrongCallError: there is no such action, or it takes other targets or options.
    """
    options = call.options
    if options.action is None:
        raise WrongCallError(f"{verb} needs an action: {', '.join(actions)}")
    action = actions[options.action]
    given = {name for name in words if getattr(options, name) not in (None, False)}
    for name in sorted(given - action.options):
        raise WrongCallError(f"{verb} {options.action} takes no {words[name]}")
    number = len(options.targets)
    if number < action.least or (action.most is not None and number > action.most):
        raise WrongCallError(f"{verb} {options.action} takes {action.takes}; {number} words were given")
    return action.run(call)
