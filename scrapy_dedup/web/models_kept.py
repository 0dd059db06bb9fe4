"""Words of the schema for what is kept in spite of all rules."""

from typing import Annotated, Literal

from pydantic import Field

from scrapy_dedup.web.models import LONGEST, Answer, Body, Count, Domain, Switch, Version
from scrapy_dedup.web.models_pages import MaybeUrl


class KeptAnswer(Answer):
    """What is kept on a domain in spite of all rules."""

    kind: Annotated[Literal["block", "page", "rule"], Field(examples=["block"])]
    domain: Domain
    entry: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]
    text: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]


class KeptListAnswer(Answer):
    """As `scrapy dedup undo --list --json`."""

    kept: list[KeptAnswer]


class TrialAnswer(Answer):
    """What would change on stored pages."""

    pages: Count
    changed: Count
    chars_less: Annotated[int, Field(examples=[-310])]
    example: MaybeUrl


class UndoneAnswer(KeptAnswer):
    """As `scrapy dedup undo --json`."""

    pages: Count
    dry_run: Switch
    was_there: Switch
    version: Version | None
    stale: Annotated[int | None, Field(examples=[12])]
    trial: TrialAnswer | None


class KeepBody(Body):
    """What is to stay: a block (16 hexadecimal digits), a page (its URL), or a rule, as explanations show it."""

    target: Annotated[str, Field(min_length=1, max_length=LONGEST, examples=["9f1c2ab0d4e57768"])]
    domain: Annotated[str | None, Field(max_length=300, examples=["example.org"])] = None
    dry_run: Switch = False
