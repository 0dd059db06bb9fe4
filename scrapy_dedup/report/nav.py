"""Where a reader of the dashboard is and where he can go: the paths of all its pages."""

from typing import Final, Literal
from urllib.parse import quote, urlencode

from msgspec import Struct

LONGEST_STEP: Final = 300
"""Characters of a name in a path; names of hosts have 253 at most."""


def path_in(project_id: str, *steps: str, **query: str) -> str:
    """Return the path of a page of a project; steps may be any text, what has no text is left out of the query."""
    quoted = "/".join(quote(step[:LONGEST_STEP], safe="", errors="replace") for step in steps)
    asked = urlencode({name: text for name, text in query.items() if text}, errors="replace")
    return f"/p/{project_id}/{quoted}{f'?{asked}' if asked else ''}"


class Nav(Struct, frozen=True):
    """Where a reader is, and where he can go.

    Attributes:
        project_id: as it stands in paths.
        project_name: foreign text.
        projects: (id, name) of all that there are, this one included.
    """

    project_id: str
    project_name: str
    projects: tuple[tuple[str, str], ...]

    def path(self, *steps: str, **query: str) -> str:
        """Return the path of a page of the project."""
        return path_in(self.project_id, *steps, **query)

    def domain(self, domain: str, *steps: str) -> str:
        """Return the path of the page about a domain, or of one below it."""
        return self.path("domains", domain, *steps)

    def template(self, domain: str, layout: str, *steps: str, **query: str) -> str:
        """Return the path of the page about a layout's template, or of one below it."""
        return self.path("templates", domain, layout, *steps, **query)

    def keep(self, what: str, *, domain: str = "", page: str = "", take_back: bool = False) -> str:
        """Return the path where something is kept, or not any more, after a look at what that changes."""
        return self.path("keep", what=what, domain=domain, page=page, take_back="1" if take_back else "")


class Button(Struct, frozen=True):
    """A button that sends fields to a path."""

    label: str
    path: str
    fields: tuple[tuple[str, str], ...] = ()


class Flash(Struct, frozen=True):
    """What came of what a reader just did; text is foreign, undo takes it back."""

    text: str
    kind: Literal["done", "wrong"] = "done"
    undo: Button | None = None
