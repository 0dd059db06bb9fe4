"""What all handlers share: the store, the settings, and the jobs."""

from pathlib import Path

from fastapi import Request
from msgspec import Struct, field

from scrapy_dedup.service.jobs import Jobs
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

    def project_of(self, id_or_name: str) -> ProjectStore:
        """Return a project by its UUID or its name; of two that fit the one with this name.

        Raises:
            UnknownProjectError: there is none.
            StoreError: the store failed.
        """
        return project_of(self.store, id_or_name)

    def default_project(self) -> ProjectStore:
        """Return the project that is shown where none is asked for; one that does not exist yet is added.

        Raises:
            StoreError: the store failed.
        """
        return self.store.project(self.project)


def server_of(request: Request) -> Server:
    """Return what the request's server serves."""
    found: Server = request.app.state.server
    return found
