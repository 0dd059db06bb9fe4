"""`scrapy dedup <verb>`.

Scrapy loads this module for every one of its commands, so it imports next to nothing: what a verb needs is imported
when that verb is called. Scrapy's own parser sees the verb alone; what follows it goes to a parser of the verb, so that
options mean the same before and after it, and what is misspelt is an error.
"""

import argparse
import difflib
import sys
from importlib import import_module
from typing import ClassVar, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

VERBS = {
    "analyze": "find what repeats on the stored pages, and store them without it",
    "analyze-layout": "show a page in the browser, and draw what of it is content, and what is left out and why",
    "batch": "clean whole corpora on Spark: WARC, Parquet, JSON lines; what comes out is what clean gives",
    "cache": "look after what is held of pages: stats, list, show, invalidate, expire, gc, verify, export, import",
    "candidates": "take in what search engines proposed: register its domains, and tell which are new",
    "changes": "tell which pages were new, changed or removed since a run or a date",
    "clean": "clean pages of files: JSON lines, WARC, folders of HTML; learns each site first",
    "config": "look after what is decided about domains: get, set, add, unset, import, export, test",
    "doctor": "check store, settings, versions, extras and browser, and say what mends what does not work",
    "domains": "look after the registry: list, show, add, blacklist, unblacklist, join, import, export",
    "explain": "tell what is known of a URL, and why its blocks were removed",
    "forget": "erase all that is known of a page or a domain, by URL or name, and write the store's file anew",
    "learn": "show pages of a domain in the browser, and learn from them how its layouts are cut",
    "layouts": "list the designs from which a domain's pages are built, and how many pages each run met",
    "mcp": "answer questions of language models about the store, by the Model Context Protocol",
    "mine": "find which kinds of pages are stored, what those of a kind share, and where they differ",
    "projects": "list the projects of the store, or delete one",
    "refine": "clean the stored pages again by what is known now, and emit those whose text changes",
    "report": "sum up what was kept, as a page of HTML if asked for",
    "runs": "list the last runs, and what each found",
    "serve": "show the store as a dashboard and by REST, on this machine, behind a token",
    "stats": "show how much boilerplate each domain has, worst first",
    "store": "look after the store as a whole: backup, restore, copy to another database, gc",
    "supervise": "run a crawl, and start it again when it hangs, has stalled or dies; the command comes after --",
    "templates": "look after how layouts are cut: list, show, diff, override, rollback, export, import",
    "undo": "keep what was removed: a block, a page, or all that a rule removes; takes effect with refine",
}


class VerbParser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        self.exit(2, _line(f"{self.prog}: {message}"))


class Command(ScrapyCommand):
    """Reads and changes what scrapy_dedup has stored. Works inside and outside of a Scrapy project."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what follows the command's name."""
        return "<verb> [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Clean files; look into crawls: stats, changes, runs, report, explain, analyze, cache, projects"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Let Scrapy's parser take the options before the verb, and leave all else alone."""
        super().add_options(parser)
        parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        lines = [f"  {name:<16}{what}" for name, what in VERBS.items()]
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "\n".join(["Verbs:", *lines, "", "scrapy dedup <verb> -h tells the options of a verb."])

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Parse what follows the verb; Scrapy's own options count wherever they stand."""
        if args:
            _refuse(f"{args[0]}: unknown option; the options of a verb come after the verb")
        if opts.verb not in VERBS:
            _refuse(_which_verb(opts.verb))
        self._verb = import_module(f"scrapy_dedup.commands.verbs.{opts.verb.replace('-', '_')}")
        # Not capitalize(), which would write REST and JSON small.
        does = VERBS[opts.verb]
        description = f"{does[0].upper()}{does[1:]}."
        parser = VerbParser(prog=f"scrapy dedup {opts.verb}", description=description, allow_abbrev=False)
        self._verb.add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, to standard output")
        super().add_options(parser)
        self._chosen = parser.parse_args(opts.rest)
        _merge(opts, self._chosen)
        try:
            super().process_options([], opts)
        except UsageError as error:
            _refuse(str(error))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 (Scrapy's signature)
        """Run the verb and set the exit code: 0, 1 where it could not be done, 2 where the call is wrong."""
        from scrapy_dedup.commands.call import answer  # noqa: PLC0415

        assert self.settings is not None
        # A verb that looks at wrong settings cannot be stopped by them.
        reads = getattr(self._verb, "read_settings", None)
        self.exitcode = answer(self._verb.run, self.settings, self._chosen, reads)


def _which_verb(given: str | None) -> str:
    verbs = f"the verbs are {', '.join(VERBS)}"
    if given is None:
        return verbs
    near = difflib.get_close_matches(given, VERBS, n=1)
    return f"{given!r} is no verb: {f'did you mean {near[0]}?' if near else verbs}"


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(_line(f"scrapy dedup: {message}"))
    raise UsageError("", print_help=False)  # exits with code 2, and prints nothing


def _line(message: str) -> str:
    """Return a message in one line; what was typed may hold anything."""
    return "".join(letter if letter.isprintable() else "?" for letter in message) + "\n"


def _merge(opts: argparse.Namespace, late: argparse.Namespace) -> None:
    """Take over Scrapy's options that stood after the verb."""
    opts.set = [*opts.set, *late.set]
    for name in ("logfile", "loglevel", "pidfile", "profile"):
        if getattr(late, name) is not None:
            setattr(opts, name, getattr(late, name))
    opts.nolog = opts.nolog or late.nolog
    opts.pdb = opts.pdb or late.pdb
