"""What all handlers share: the store, the settings, the jobs, and the project that a request is about.

Whatever reads or writes the store raises StoreError where that fails.
"""

from pathlib import Path
from typing import Self

from fastapi import Request
from msgspec import Struct, field

from scrapy_dedup.service.jobs import Job, Jobs, Work, run_verb
from scrapy_dedup.service.projects import project_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


class Server(Struct, frozen=True):
    """What one server serves.

    Attributes:
        project: the name of the project that is shown where none is asked for.
        arguments: what a command needs to work on the same store: `-s NAME=VALUE` and so on.
        folder: where commands run.
    """

    store: Store
    settings: Settings
    project: str
    jobs: Jobs = field(default_factory=Jobs)
    arguments: tuple[str, ...] = ()
    folder: Path = Path()

    def default_project(self) -> ProjectStore:
        """Return the project that is shown where none is asked for; one that does not exist yet is added."""
        return self.store.project(self.project)


def server_of(request: Request) -> Server:
    """Return what the request's server serves."""
    found: Server = request.app.state.server
    return found


class OpenProject(Struct, frozen=True):
    """A project that a request is about."""

    request: Request
    project: ProjectStore

    @classmethod
    def named(cls, request: Request, id_or_name: str) -> Self:
        """Return a project by its UUID or its name; of two that fit the one with this name.

        Raises:
            UnknownProjectError: there is none.
        """
        return cls(request, project_of(server_of(request).store, id_or_name))

    @property
    def server(self) -> Server:
        """What serves it."""
        return server_of(self.request)

    @property
    def settings(self) -> Settings:
        """Those of the server."""
        return self.server.settings

    def start(self, kind: str, work: Work) -> Job:
        """Start a piece of work on this project, and return its job.

        Raises:
            TooManyJobsError: too many wait already.
        """
        return self.server.jobs.start(kind, self.project.name, work)

    def start_verb(self, verb: str, *words: str) -> Job:
        """Start `scrapy dedup templates VERB` on this project, as `start` does."""
        server = self.server
        command = ["templates", verb, *words, *server.arguments, "-s", f"DEDUP_PROJECT={self.project.name}"]
        return self.start(verb, lambda progress: run_verb(command, server.folder, progress))
