"""One call of a verb: what was chosen, the store, and how errors are told."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_dedup.commands.terminal import one_line
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.crawl.store_address import database_url
from scrapy_dedup.service.projects import find_project
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.service.views.explain import UrlError
from scrapy_dedup.settings import NO_BOT_NAME, SettingError, Settings
from scrapy_dedup.store.engine.engines import file_of, parse_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

if TYPE_CHECKING:
    from scrapy_dedup.answers.words import Answer

DONE = 0
NOT_DONE = 1
WRONG_CALL = 2
INTERRUPTED = 130


class CommandError(DedupError):
    """What was asked for cannot be done; the message says why, and what to do."""


class WrongCallError(DedupError):
    """The command line asks for nothing that there is."""


@dataclass(frozen=True, slots=True)
class Call:
    """What holds for one call of a verb."""

    settings: Settings
    project: str
    options: argparse.Namespace
    source: Mapping[str, Any]
    """All of Scrapy's settings."""

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Give the store; one that does not exist is not created.

        Raises:
            StoreError: it cannot be opened.
        """
        with Store.open(database_url(self.settings), timeout=self.settings.database_timeout, create=False) as store:
            yield store

    @contextmanager
    def opened(self) -> Iterator[tuple[Store, ProjectStore]]:
        """Give the store and the project's part of it.

        Raises:
            StoreError: the store cannot be opened.
            UnknownProjectError: it has no such project.
        """
        with self.store() as store:
            yield store, find_project(store, self.project)

    @contextmanager
    def served(self) -> Iterator[Store]:
        """Give the store, with the project in it, to be served; where there is no project yet, it is created.

        Raises:
            StoreError: the store cannot be opened.
            UnknownProjectError: it has other projects, and not this one: a name was mistyped.
        """
        with Store.open(database_url(self.settings), timeout=self.settings.database_timeout) as store:
            if store.project_names():
                find_project(store, self.project)
            else:
                store.project(self.project, keep_policy(self.settings))
            yield store

    @contextmanager
    def filled(self, *, dry_run: bool) -> Iterator[tuple[Store, ProjectStore]]:
        """Give the store and the project's part of it, to be filled from files.

        Both are created where they do not exist; for a dry run an empty store in memory stands for them.

        Raises:
            StoreError: the store cannot be opened.
        """
        url = database_url(self.settings)
        if not dry_run:
            with Store.open(url, timeout=self.settings.database_timeout) as store:
                yield store, store.project(self.project, keep_policy(self.settings))
            return
        path = file_of(parse_url(url))
        with Store.open("sqlite://") as nothing:
            if path is not None and not path.exists():
                yield nothing, nothing.project(self.project)
                return
            with self.store() as store:
                found = store.find_project(self.project)
                yield (store, found) if found else (nothing, nothing.project(self.project))


def answer(
    verb: Callable[[Call], int],
    source: Mapping[str, Any],
    options: argparse.Namespace,
    reads: Callable[[Mapping[str, Any]], Settings] | None = None,
) -> int:
    """Run a verb and return the exit code; what goes wrong is told in one line on standard error.

    Args:
        verb: what runs.
        source: all of Scrapy's settings.
        options: what was chosen for this call.
        reads: makes our settings of them; None refuses wrong ones.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        settings = (reads or Settings.read)(source)
        code = verb(Call(settings, settings.project or source["BOT_NAME"] or NO_BOT_NAME, options, source))
        sys.stdout.flush()
    except (SettingError, UrlError, WrongCallError) as error:
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


def _words_of(error: Exception) -> str:
    """Return a message; of a file that cannot be used its name and why, without the system's number for it."""
    if isinstance(error, OSError) and error.filename is not None and error.filename2 is None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def _told(error: object, code: int) -> int:
    sys.stderr.write(f"scrapy dedup: {one_line(str(error), 1_000)}\n")
    return code
