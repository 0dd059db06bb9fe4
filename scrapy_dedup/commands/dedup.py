"""`scrapy dedup <verb>`.

Scrapy loads this module for every one of its commands, so it imports next to nothing: what a verb needs is imported
when that verb is called. Scrapy's own parser sees the verb alone; what follows it goes to a parser of the verb, so that
options mean the same before and after it, and what is misspelt is an error.
"""

import argparse
import difflib
import os
import sys
from typing import ClassVar, Final, NamedTuple, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError


class Verb(NamedTuple):
    """One thing that is done by one word after `dedup`, or by two; a second one that begins with -- stands anywhere."""

    module: str
    does: str


VERBS: Final = {
    "changes": Verb("verbs.changes", "tell which pages were new, changed or removed since a run or a date"),
    "clean": Verb("verbs.clean", "clean pages of files (JSON lines, WARC, folders of HTML); learns each site first"),
    "clean --spark": Verb("parts.batch", "clean whole corpora on Spark; what comes out is what clean gives"),
    "doctor": Verb("verbs.doctor", "check store, settings, versions, extras and browser, and say what mends them"),
    "domains": Verb(
        "verbs.domains",
        "look after the registry: list, show, add, blacklist, unblacklist, join, import, export, candidates",
    ),
    "explain": Verb("verbs.explain", "tell what is known of a URL, and why its blocks were removed"),
    "report": Verb("verbs.report", "sum up what was kept, as a page of HTML if asked for"),
    "report --domains": Verb("parts.stats", "show how much boilerplate each domain has, worst first"),
    "runs": Verb("verbs.runs", "list the last runs, and what each found"),
    "serve": Verb("verbs.serve", "show the store as a dashboard and by REST, on this machine, behind a token"),
    "serve --mcp": Verb("parts.mcp", "answer questions of language models, by the Model Context Protocol"),
    "store": Verb("verbs.store", "look after the store as a whole: backup, restore, copy, gc, forget, projects"),
    "store cache": Verb(
        "parts.cache", "what is held of pages: stats, invalidate, expire, clean, verify, export, import"
    ),
    "store config": Verb("parts.config", "what is decided about sites: get, set, add, unset, import, export, test"),
    "supervise": Verb(
        "verbs.supervise", "run the crawl that comes after --, and start it again when it hangs, has stalled or dies"
    ),
    "templates": Verb(
        "verbs.templates", "how layouts are cut: layouts, list, show, diff, override, rollback, export, import"
    ),
    "templates analyze": Verb("parts.analyze", "find what repeats on the stored pages, and store them without it"),
    "templates analyze-layout": Verb(
        "parts.analyze_layout", "show a page in the browser, and draw what is content, what is left out and why"
    ),
    "templates learn": Verb("parts.learn", "show pages of a domain in the browser, and learn how its layouts are cut"),
    "templates mine": Verb("parts.mine", "find kinds of stored pages, what those of a kind share, where they differ"),
    "templates refine": Verb("parts.refine", "clean the stored pages again, and emit those whose text changes"),
    "undo": Verb("verbs.undo", "keep what was removed: a block, a page, or all that a rule removes"),
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
        return "Clean files; look into crawls: changes, runs, report, explain; look after domains, templates, store"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Let Scrapy's parser take the options before the verb, and leave all else alone."""
        super().add_options(parser)
        parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        lines = [f"  {name:<26}{verb.does}" for name, verb in VERBS.items()]
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "\n".join(["Verbs:", *lines, "", "scrapy dedup <verb> -h tells the options of a verb."])

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Parse what follows the verb; Scrapy's own options count wherever they stand."""
        if args:
            _refuse(f"{args[0]}: unknown option; the options of a verb come after the verb")
        name, rest = _called(opts.verb, opts.rest)
        module, does = VERBS[name]
        try:
            # `scrapy` loads this module whatever it is asked for.
            from scrapy_dedup.core.imports import imported  # noqa: PLC0415

            self._verb = imported(f"scrapy_dedup.commands.{module}")
        except KeyboardInterrupt:
            # What a verb needs takes a second to be imported.
            sys.stderr.write(_line("scrapy dedup: interrupted; nothing was begun"))
            sys.exit(130)
        # Not capitalize(), which would write REST and JSON small.
        parser = VerbParser(
            prog=f"scrapy dedup {name}",
            description=f"{does[0].upper()}{does[1:]}.",
            epilog=_parts_of(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._verb.add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, to standard output")
        super().add_options(parser)
        self._chosen = parser.parse_args(rest)
        _merge(opts, self._chosen)
        try:
            super().process_options([], opts)
        except UsageError as error:
            _refuse(str(error))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 (Scrapy's signature)
        """Run the verb and set the exit code: 0, 1 where it could not be done, 2 where the call is wrong."""
        from scrapy_dedup.commands.call import answer  # noqa: PLC0415

        assert self.settings is not None
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                # Whoever called it has closed it: there is nothing to read, and nobody to ask or to tell.
                setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 (open while it runs)
        # A verb that looks at wrong settings cannot be stopped by them.
        reads = getattr(self._verb, "read_settings", None)
        self.exitcode = answer(self._verb.run, self.settings, self._chosen, reads)


def _called(first: str | None, rest: list[str]) -> tuple[str, list[str]]:
    """Return the verb that is called, by its name in VERBS, and the words after it."""
    if first not in VERBS:
        _refuse(_which_verb(first))
    for name in VERBS:
        word = name.removeprefix(f"{first} ")
        if word in (rest if word.startswith("--") else rest[:1]):
            return name, [one for one in rest if one != word]
    return first, rest


def _parts_of(name: str) -> str:
    parts = [f"  scrapy dedup {each:<26}{verb.does}" for each, verb in VERBS.items() if each.startswith(f"{name} ")]
    return "\n".join(["Also:", *parts]) if parts else ""


def _which_verb(given: str | None) -> str:
    verbs = f"the verbs are {', '.join(name for name in VERBS if ' ' not in name)}"
    if given is None:
        return verbs
    actions = {name: verb.does.partition(": ")[2].split(", ") for name, verb in VERBS.items()}
    called = [(action, f"{name} {action}") for name, known in actions.items() for action in known if action]
    called += [(verb.module.rpartition(".")[2].replace("_", "-"), name) for name, verb in VERBS.items()]
    near = difflib.get_close_matches(given, [word for word, _ in called], n=1)
    meant = " or ".join(dict.fromkeys(name for word, name in called if word in near))
    return f"{given!r} is no verb: {f'did you mean {meant}?' if meant else verbs}"


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
