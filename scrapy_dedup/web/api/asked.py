"""What handlers are given: whose project, which domain, and what all operations have in common."""

from typing import Annotated, Final

from fastapi import Depends, Path, Query, Request
from fastapi.dependencies.models import Dependant
from pydantic import BaseModel, ConfigDict, Field

from scrapy_dedup.core.domains import checked_domain
from scrapy_dedup.web.problems import ProblemError
from scrapy_dedup.web.server import OpenProject, server_of

PREFIX: Final = "/api/v1"
MOST_ON_A_PAGE: Final = 1_000
LONGEST: Final = 2_000
_PROJECT: Final = "A project, by its name or its UUID."


ProjectInPath = Annotated[str, Path(description=_PROJECT, max_length=500, examples=["shop"])]


def _asked(request: Request, project: ProjectInPath) -> OpenProject:
    unknown = sorted(set(request.query_params) - _query_names(request.scope["route"].dependant))
    if unknown:
        # What a misspelt dry_run does is done.
        raise ProblemError(422, f"{unknown[0][:100]!r} is no parameter of this operation")
    sent = request.headers.get("content-length") or request.headers.get("transfer-encoding", "0")
    # Of two bytes a body is {}, which many clients send and which says nothing.
    if sent not in ("0", "2") and not request.scope["route"].dependant.body_params:
        raise ProblemError(422, "this operation reads no body: its parameters stand in the address")
    return OpenProject.named(request, project)


def _query_names(dependant: Dependant) -> set[str]:
    names = {one.alias for one in dependant.query_params}
    return names.union(*map(_query_names, dependant.dependencies))


Here = Annotated[OpenProject, Depends(_asked)]


def _domain(
    request: Request,
    domain: Annotated[str, Path(description="A domain, in any spelling.", max_length=300, examples=["example.org"])],
) -> str:
    return checked_domain(domain, server_of(request).settings.domain_scope)


def _only(
    request: Request,
    domain: Annotated[
        str | None, Query(description="Only this domain, in any spelling.", max_length=300, examples=["example.org"])
    ] = None,
) -> str | None:
    return checked_domain(domain, server_of(request).settings.domain_scope) if domain else None


DomainInPath = Annotated[str, Depends(_domain)]
DomainInQuery = Annotated[str | None, Depends(_only)]
LayoutInPath = Annotated[
    str,
    Path(
        description="A layout: the first digits of its signature, or `rest`.",
        min_length=1,
        max_length=16,
        pattern="^(rest|[0-9a-fA-F]{1,16})$",
        examples=["rest"],
    ),
]
UrlInQuery = Annotated[
    str, Query(description="The page's address.", max_length=LONGEST, examples=["https://example.org/tea"])
]
DryRun = Annotated[bool, Query(description="Only say what would be done.", examples=[True])]
Limit = Annotated[int, Query(description="So many at most.", ge=1, le=MOST_ON_A_PAGE, examples=[50])]
After = Annotated[
    str | None, Query(description="The `next` of the answer before.", max_length=LONGEST, examples=[None])
]

# No number or text counts for it: what is destroyed by a `"dry_run": 0` of a careless client is gone.
Switch = Annotated[bool, Field(strict=True, examples=[False])]
Named = Annotated[str, Field(min_length=1, max_length=300, examples=["spam.example"])]


class Body(BaseModel):
    """What a client sends; a misspelt member is an error."""

    model_config = ConfigDict(extra="forbid")


class WriteBody(Body):
    """Whether it is only to be said what would be done."""

    dry_run: Switch = False
