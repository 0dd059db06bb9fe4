"""Runs `scrapy` in forks of a process that has imported it: each call a process of its own, half its time saved.

Reads a JSON object a line: arguments, folder, environment, and what is opened as standard input, output and error.
Writes one a line: {"started": pid}, in the order of the calls, and {"ended": pid, "code": exit code}.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, NoReturn

from tldextract import TLDExtract

from tests.installed import ask_once

# Everything but a reactor, which each process installs for itself.
PRELOADED = (
    "scrapy.cmdline",
    "scrapy.commands.crawl",
    "scrapy.core.engine",
    "scrapy.core.scheduler",
    "scrapy.extensions.feedexport",
    "scrapy.squeues",
    "twisted.internet.asyncioreactor",
    "scrapy_dedup.plugin.addon",
    "scrapy_dedup.plugin.downloader_middleware",
    "scrapy_dedup.plugin.dupefilter",
    "scrapy_dedup.plugin.item_pipeline",
    "scrapy_dedup.plugin.resilience.extension",
    "scrapy_dedup.plugin.spider_middleware",
    "scrapy_dedup.plugin.resilience.stall_monitor",
    "scrapy_dedup.commands.call",
    # What most calls import when they come to it.
    "html_to_markdown.api",
    "rich.progress",
    "tests.end_to_end.recorders",
)
# Packages all of whose modules are imported, as Scrapy and a verb do it.
PRELOADED_PACKAGES = (
    "tests.end_to_end.spiders",
    "scrapy_dedup.answers",
    "scrapy_dedup.commands.parts",
    "scrapy_dedup.commands.verbs",
)
_TICK_SECONDS = 0.01


def main() -> None:
    preload()
    if "twisted.internet.reactor" in sys.modules:
        raise SystemExit("a preloaded module installs a reactor")
    # Else each fork looks through, and so copies, all that was imported whenever it collects garbage: half its time.
    gc.collect()
    gc.freeze()
    pending = b""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([0], [], [], _TICK_SECONDS if running else None)
        if ready:
            some = os.read(0, 65_536)
            if not some:
                return
            *calls, pending = (pending + some).split(b"\n")
            for call in calls:
                pid = _start(json.loads(call))
                running.add(pid)
                _tell({"started": pid})
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.discard(pid)
                _tell({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def preload() -> None:
    """Import what each crawl would import first: ours, and all that Scrapy's own settings name.

    Some of Scrapy's modules take half a second when they are imported, since they look at the whole stack.
    """
    for name in PRELOADED:
        importlib.import_module(name)
    from scrapy.settings import Settings

    for name in PRELOADED_PACKAGES:
        for one in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(one.name)
    # Scrapy's asks the network for the public suffixes, once an environment, and logs a traceback where there is none.
    cookies: Any = importlib.import_module("scrapy.downloadermiddlewares.cookies")
    cookies._split_domain = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
    # Scrapy looks at each of them at every call; scrapy-poet's imports pytest, a quarter of a second.
    for command in entry_points(group="scrapy.commands"):
        with contextlib.suppress(ImportError, SystemExit):
            command.load()
    for path in sorted({"scrapy_dedup.teacher.rendering.show_page", *_components(Settings())}):
        # What an optional package is missing for is none of these crawls' either.
        with contextlib.suppress(ImportError, SystemExit):
            importlib.import_module(path.rpartition(".")[0])
    # A tenth of a second in each crawl with DEDUP_REUSE.
    importlib.import_module("scrapy_dedup.plugin.recrawl.memory").installed()
    importlib.import_module("scrapy_dedup.service.model_file").verdict_model()
    ask_once()


def _components(settings: Mapping[str, Any]) -> set[str]:
    import scrapy.commands

    found = {f"{one.name}.Command" for one in pkgutil.iter_modules(scrapy.commands.__path__, "scrapy.commands.")}
    for name in settings:
        value = settings[name]
        named = [value] if isinstance(value, str) else [*value, *value.values()] if isinstance(value, Mapping) else []
        found.update(one for one in named if isinstance(one, str) and one.startswith("scrapy.") and one.count(".") > 1)
    return found


def _tell(what: dict[str, int]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _start(call: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _become(call)
    return pid


def _become(call: dict[str, Any]) -> NoReturn:
    """Be what `python -m scrapy` would be."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGPIPE else signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    for descriptor, (path, flags) in enumerate(zip(call["streams"], _FLAGS, strict=True)):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    coding = os.environ.get("PYTHONIOENCODING")
    sys.stdin, sys.stdout = open(0, encoding=coding), open(1, "w", encoding=coding)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=coding, buffering=1)  # noqa: SIM115
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[0] = call["folder"]
    importlib.invalidate_caches()
    sys.argv = ["scrapy", *call["arguments"]]
    sys.orig_argv = [sys.executable, "-m", *sys.argv]
    code = _run()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


_FLAGS = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _run() -> int:
    from scrapy.cmdline import execute

    try:
        execute(sys.argv)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        import traceback

        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
