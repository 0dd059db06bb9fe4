"""Values with hostile text in every field that can hold text, made of the declarations: a new field is among them."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from scrapy_dedup.report.values import (
    ChangedPage,
    ExplainedBlock,
    ExplainedChunk,
    ExplainedPage,
    Ledger,
    LedgerCheck,
    LedgerTable,
    Report,
    ReportDomainLayouts,
    ReportLayout,
    ReportRecrawl,
)
from tests.report.builders import NOON, a_diff, a_domain

HOSTILE = '</title></style><script>window.hacked = 1</script><img src=x onerror="window.hacked=1">\'&amp;'
NUL_AND_BIDI = "a\x00b\x1bc\u202egnp.exe\u2066\u200b\ufeff\U000e0041\ud800"
ALL = HOSTILE + NUL_AND_BIDI
LONG: Final = 10_000_000
URLS: Final = ("javascript:window.hacked=1", 'http://evil.example/"onclick="window.hacked=1', "http://[broken/")
TEXTS: Final = (ALL, *URLS, "data:text/html,hacked", "x" * LONG)
_PLAIN: Final[dict[Any, Any]] = {
    bool: False, int: 1, float: 0.5, bytes: b"\0" * 16, datetime: NOON, date: NOON.date(), UUID: UUID(int=7),
}  # fmt: skip


def without_values(html: str) -> str:
    """Return HTML without what fields hold: it comes back as it was."""
    return re.sub(r' value="[^"]*"', "", html)


def hostile(kind: Any, *texts: str, **other: Any) -> Any:
    """Return a value of a type whose texts are the first of some, and in whose sequences stands one of each of them.

    *texts*: TEXTS where none are named; *other*: fields of it that are something else.
    """
    texts = texts or TEXTS
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        made: Any = _PLAIN[kind]
    elif origin in (Union, UnionType):
        made = hostile(next(one for one in inner if one is not NoneType), *texts)
    elif origin is Annotated:
        made = hostile(inner[0], *texts)
    elif origin is tuple and Ellipsis not in inner:
        made = tuple(hostile(one, *texts) for one in inner)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        made = {texts[0]: hostile(inner[1], *texts)}
    elif isinstance(origin, type) and issubclass(origin, (Sequence, frozenset)):
        made = (frozenset if origin is frozenset else tuple)(hostile(inner[0], one) for one in texts)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        made = next(iter(kind))
    elif names := [getattr(kind, name) for name in ("__struct_fields__", "_fields") if hasattr(kind, name)]:
        hints = get_type_hints(kind, include_extras=True)
        made = kind(**({name: hostile(hints[name], *texts) for name in names[0] if name not in other} | other))
    else:
        assert kind in (str, Any, object) or origin is Literal, kind
        made = texts[0]
    return made


def many(kind: Any, number: int, **other: Any) -> tuple[Any, ...]:
    """Return so many, one of each of TEXTS first."""
    each = tuple(hostile(kind, text, **other) for text in TEXTS)
    return each + each[:1] * (number - len(each))


def a_hostile_ledger() -> Ledger:
    return hostile(Ledger, run=hostile(LedgerTable, checks=(LedgerCheck(ALL, 1, 2),)))


def a_hostile_page() -> ExplainedPage:
    """An explanation, of kept blocks, too; what rules and blocks are called is no page's own word."""
    named = dict.fromkeys(("rule", "rule_path", "fingerprint"), ALL)
    blocks = (ExplainedBlock(ALL), ExplainedBlock("b" * LONG), *many(ExplainedBlock, 3_000, **named))
    return hostile(ExplainedPage, URLS[0], *TEXTS, blocks=blocks, lost=blocks[2:8], chunks=many(ExplainedChunk, 2_000))


def a_hostile_report() -> Report:
    diffs = (a_diff("-" + ALL, "+x" + ALL), ALL, a_diff("-" + TEXTS[-1], *["+e"] * 100_000))
    changed = tuple(hostile(ChangedPage, text, diff=diff) for text, diff in zip((ALL, *URLS[:2]), diffs, strict=True))
    layouts = ((text, (hostile(ReportLayout, text, picture=None),)) for text in TEXTS)
    return hostile(
        Report,
        pages_fetched=42,
        domains=tuple(map(a_domain, TEXTS)),
        ledger=a_hostile_ledger(),
        recrawl=hostile(ReportRecrawl, diffs=changed),
        layouts=tuple(hostile(ReportDomainLayouts, text, layouts=layout) for text, layout in layouts),
    )
