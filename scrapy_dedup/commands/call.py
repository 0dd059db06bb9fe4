"""One call of a verb: what was chosen, the store, and how errors are told."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from errno import ENOSPC
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from msgspec import Struct

from scrapy_dedup.commands.terminal import errors, one_line, output, print_table, say, shown
from scrapy_dedup.core.domains import checked_domain
from scrapy_dedup.core.errors import DedupError, InvalidError
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.packed_files import MOST_BYTES, FileRefusedError, checked_content, regular_file
from scrapy_dedup.service.projects import Deletion, find_project
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.settings import NO_BOT_NAME, Settings
from scrapy_dedup.settings.parsers import duration
from scrapy_dedup.store.engine.database import parse_url
from scrapy_dedup.store.engine.errors import FREE_SPACE, file_of
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

if TYPE_CHECKING:
    from scrapy_dedup.answers import Answer

STANDARD_INPUT: Final = "-"
_MOST_TEXT_BYTES: Final = 32_000_000


@contextmanager
def opened_input(name: str, most_bytes: int = MOST_BYTES) -> Iterator[BinaryIO]:
    """Give the content of a file or of standard input, packed by gzip or zstd or not, once it is known to be whole.

    Raises:
        FileRefusedError: it is no regular file, damaged or too large; nothing of it was given.
        OSError: it cannot be opened.
    """
    if name == STANDARD_INPUT:
        with checked_content(sys.stdin.buffer, "standard input", most_bytes, seekable=False) as content:
            yield content
        return
    with regular_file(name) as file, checked_content(file, name, most_bytes) as content:
        yield content


def text_of(name: str) -> str:
    """Return the text of a file that is read as a whole, or of standard input.

    Raises:
        FileRefusedError: it is no regular file, damaged, too large or no UTF-8.
        OSError: it cannot be opened.
    """
    with opened_input(name, _MOST_TEXT_BYTES) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileRefusedError(f"{name}: it is no UTF-8 ({error})") from error


def age(text: str) -> timedelta:
    """Return the time that a text such as 30d means, for argparse."""
    try:
        return duration(text)
    except ValueError as error:
        told = f"{text!r} is no age: write a number and s, m, h, d or w, such as 30d"
        raise argparse.ArgumentTypeError(told) from error


def number(most: int, things: str) -> Callable[[str], int]:
    """Return what reads 1 to so many things, for argparse."""

    def read(word: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) < 10 and 1 <= int(word) <= most):
            raise argparse.ArgumentTypeError(f"{word}: needs 1 to {most} {things}")
        return int(word)

    return read


def ago(age: timedelta) -> datetime:
    """Return the instant so long ago; the first there is where that is before all times."""
    try:
        return datetime.now(UTC) - age
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


DONE = 0
NOT_DONE = 1
WRONG_CALL = 2
INTERRUPTED = 130


class CommandError(DedupError):
    """What was asked for cannot be done; the message says why, and what to do."""


class WrongCallError(InvalidError):
    """The command line asks for nothing that there is."""


class Call(Struct, frozen=True):
    """What holds for one call of a verb."""

    settings: Settings
    project: str
    options: argparse.Namespace
    source: Mapping[str, Any]
    """All of Scrapy's settings."""

    def domain(self, name: str) -> str:
        """Return the domain that a text names.

        Raises:
            DomainNameError: it names none.
        """
        return checked_domain(name, self.settings.domain_scope)

    @contextmanager
    def store(self, *, write: bool = False) -> Iterator[Store]:
        """Give the store; one that does not exist is not created, and none that is not to be written to where one is.

        Raises:
            StoreError: it cannot be opened.
        """
        url, timeout = database_url(self.settings), self.settings.database_timeout
        with Store.open(url, timeout=timeout, create=False, write=write) as store:
            yield store

    @contextmanager
    def opened(self, *, write: bool = False) -> Iterator[ProjectStore]:
        """Give the project's part of the store, see `store`.

        Raises:
            StoreError: the store cannot be opened.
            UnknownProjectError: it has no such project.
        """
        with self.store(write=write) as store:
            yield find_project(store, self.project)

    @contextmanager
    def served(self) -> Iterator[Store]:
        """Give the store, with the project in it, to be served; where there is no project yet, it is created.

        Raises:
            StoreError: the store cannot be opened.
            UnknownProjectError: it has other projects, and not this one: a name was mistyped.
        """
        with Store.open(database_url(self.settings), timeout=self.settings.database_timeout, write=False) as store:
            if store.project_names():
                find_project(store, self.project)
            else:
                store.project(self.project, keep_policy(self.settings))
            yield store

    @contextmanager
    def filled(self, *, dry_run: bool) -> Iterator[ProjectStore]:
        """Give the project's part of the store, to be filled from files.

        Both are created where they do not exist; for a dry run an empty store in memory stands for them.

        Raises:
            StoreError: the store cannot be opened.
        """
        url = database_url(self.settings)
        if not dry_run:
            with Store.open(url, timeout=self.settings.database_timeout) as store:
                yield store.project(self.project, keep_policy(self.settings))
            return
        path = file_of(parse_url(url))
        with Store.open("sqlite://") as nothing:
            if path is not None and not path.exists():
                yield nothing.project(self.project)
                return
            with self.store() as store:
                yield store.find_project(self.project) or nothing.project(self.project)


class Action(Struct, frozen=True):
    """One thing that can be done, what it takes, and how many of it; most is None without a limit.

    Attributes:
        options: those of the verb that it knows, by their names in the namespace.
    """

    run: Callable[[Call], int]
    takes: str = "nothing"
    least: int = 0
    most: int | None = 0
    options: frozenset[str] = frozenset()


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, Action]) -> None:
    """Add the actions and their targets; what belongs together is checked when one runs."""
    # Python 3.11 gives what stands after an option to no positional of this kind otherwise.
    parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
    add = parser.add_argument
    add("action", nargs="?", choices=tuple(actions), help="what to do")
    add("targets", nargs="*", metavar="TARGET", help="; ".join(f"{name}: {one.takes}" for name, one in actions.items()))


def run_action(
    call: Call, verb: str, actions: Mapping[str, Action], words: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Do what was asked for, and return the exit code.

    *words* are options that people write otherwise than they stand in the namespace.

    Raises:
        WrongCallError: there is no such action, or it takes other targets or options.
    """
    options = call.options
    if options.action is None:
        raise WrongCallError(f"{verb} needs an action: {', '.join(actions)}")
    action = actions[options.action]
    known = frozenset[str]().union(*(one.options for one in actions.values()))
    for name in sorted(known - action.options):
        if getattr(options, name) is not None and getattr(options, name) is not False:
            raise WrongCallError(f"{verb} {options.action} takes no {words.get(name, f'--{name}').replace('_', '-')}")
    number = len(options.targets)
    if number < action.least or (action.most is not None and number > action.most):
        raise WrongCallError(f"{verb} {options.action} takes {action.takes}; words given: {number}")
    return action.run(call)


def answer(
    verb: Callable[[Call], int],
    source: Mapping[str, Any],
    options: argparse.Namespace,
    reads: Callable[[Mapping[str, Any]], Settings] | None = None,
) -> int:
    """Run a verb and return the exit code; what goes wrong is told in one line on standard error.

    *source* has all of Scrapy's settings; *reads* makes ours of them, None refuses wrong ones.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        settings = (reads or Settings.read)(source)
        code = verb(Call(settings, settings.project or source["BOT_NAME"] or NO_BOT_NAME, options, source))
        sys.stdout.flush()
    except InvalidError as error:
        return _told(error, WRONG_CALL)
    except (DedupError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has enough; without this Python complains when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return NOT_DONE
        return _told(_words_of(error), NOT_DONE)
    except KeyboardInterrupt:
        return _told("interrupted; the store is as it was", INTERRUPTED)
    return code


def print_json(value: "Mapping[str, Any] | Answer") -> None:
    """Print a value as JSON in ASCII, so that nothing in it acts on a terminal."""
    plain = value if isinstance(value, Mapping) else value.model_dump(mode="json")
    sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=True) + "\n")


def print_answer(call: Call, module: str, make: Callable[[Any], "Answer"]) -> bool:
    """Print as JSON what is made of a module of `answers`, where that was asked for; say whether it was.

    The module is imported then: pydantic is for nobody else.
    """
    if call.options.json:
        print_json(make(import_module(f"scrapy_dedup.answers.{module}")))
    return bool(call.options.json)


def write_export(call: Call, found: Mapping[str, Any], entries: str, thing: str) -> int:
    """Write plain values to the FILE that is named, or to standard output; return the exit code.

    It is JSON in ASCII, so that nothing in it acts on a terminal.

    *entries* is the key of what is counted, each of which is called a *thing*.
    """
    text = json.dumps(found, indent=1, ensure_ascii=True) + "\n"
    if not call.options.targets:
        sys.stdout.write(text)
        return DONE
    file, number = Path(call.options.targets[0]), len(found[entries])
    write_text(file, text)
    if call.options.json:
        print_json({"file": str(file), entries: number})
    else:
        say(f"{count(number, thing)} written to {file}.")
    return DONE


def write_text(file: Path, text: str) -> None:
    """Write a file, which is there whole or as it was before."""
    with replacing_alone(file) as output:
        output.write(text.encode())


def _words_of(error: Exception) -> str:
    """Return a message; of a file that cannot be used its name and why, without the system's number for it."""
    if isinstance(error, OSError) and error.filename is not None and error.filename2 is None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return f"{error.strerror}. {FREE_SPACE}"
    return str(error)


def _told(error: object, code: int) -> int:
    sys.stderr.write(f"scrapy dedup: {one_line(str(error), 1_000)}\n")
    return code


def refuse_unasked(call: Call, verb: str) -> None:
    """Refuse to delete where nobody can be asked.

    Raises:
        WrongCallError: neither --yes nor --dry-run is given, and there is no terminal.
    """
    options = call.options
    if not (options.dry_run or options.yes) and (options.json or not sys.stdin.isatty()):
        raise WrongCallError(f"{verb} asks before it deletes, and here it cannot: repeat it with --dry-run or --yes")


def delete(call: Call, what: str, find: Callable[[], Deletion], remove: Callable[[Deletion], Deletion]) -> int:
    """Show what would be deleted, ask, delete it, and show what was; return the exit code."""
    options = call.options
    deletion = find()
    if not (options.yes or options.dry_run):
        _tell(deletion, what)
        question = shown(f"Delete {what} with {count(deletion.total, 'row')}? [y/N] ", 300)
        if errors().input(question).strip().lower() not in ("y", "yes"):
            output().print("Nothing was deleted.")
            return NOT_DONE
    if not options.dry_run:
        deletion = remove(deletion)
    if not print_answer(call, "projects", lambda answers: answers.DeletionAnswer.of(deletion)):
        _tell(deletion, what)
    return DONE


def _tell(deletion: Deletion, what: str) -> None:
    print_table(
        f"{'Deleted' if deletion.deleted else 'Would be deleted'}: {what}", "Table, Rows", deletion.rows.items()
    )
