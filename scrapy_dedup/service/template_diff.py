"""How one version of a template differs from another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_dedup.core.path_verdicts import PathVerdict, VerdictChange
from scrapy_dedup.service.template_upkeep import (
    FIELDS,
    decisions_of,
    evidence_of,
    layout_of,
    present_of,
    template_in,
    texts_of,
    versions_of,
)
from scrapy_dedup.store.stored_layouts import StoredTemplate
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class TemplateDiff:
    """How one version differs from another.

    Attributes:
        added, removed: selectors by what they are for: content, exclude, title, date, author.
        verdicts: in the order of paths.
        decided, undecided: overrides as (action, selector) that only the second, only the first has.
    """

    before: StoredTemplate
    after: StoredTemplate
    added: Mapping[str, tuple[str, ...]]
    removed: Mapping[str, tuple[str, ...]]
    verdicts: tuple[VerdictChange, ...]
    decided: tuple[tuple[str, str], ...]
    undecided: tuple[tuple[str, str], ...]

    @property
    def is_empty(self) -> bool:
        """Whether both cut alike."""
        return not (self.added or self.removed or self.verdicts or self.decided or self.undecided)


def diff_templates(project: ProjectStore, domain: str, layout: str, numbers: tuple[int, int]) -> TemplateDiff:
    """Return how the second of two versions differs from the first.

    Raises:
        UnknownLayoutError, TemplateChoiceError: there is no such layout, or version.
        StoreError: the store failed.
    """
    versions = versions_of(project, domain, layout_of(project, domain, layout))
    return diff(present_of(versions, numbers[0]), present_of(versions, numbers[1]))


def diff(before: StoredTemplate, after: StoredTemplate) -> TemplateDiff:
    """Return how a template differs from another of its layout."""
    ours, theirs = decisions_of(after), decisions_of(before)
    return TemplateDiff(
        before,
        after,
        added=_only_in(after, before),
        removed=_only_in(before, after),
        verdicts=tuple(_verdict_changes(before, after)),
        decided=tuple(one for one in ours if one not in theirs),
        undecided=tuple(one for one in theirs if one not in ours),
    )


def _only_in(one: StoredTemplate, other: StoredTemplate) -> dict[str, tuple[str, ...]]:
    found = {}
    for name in ("content", "exclude", *FIELDS):
        others = set(texts_of(other.selectors, name))
        own = tuple(text for text in texts_of(one.selectors, name) if text not in others)
        if own:
            found[name] = own
    return found


def _verdict_changes(before: StoredTemplate, after: StoredTemplate) -> Iterable[VerdictChange]:
    old, new = ((found.verdicts if (found := template_in(one)) else {}) for one in (before, after))
    for path in sorted(old.keys() | new.keys()):
        was, is_now = old.get(path), new.get(path)
        if _word(was) != _word(is_now):
            yield VerdictChange(path, _word(was), _word(is_now), evidence_of(is_now or was))


def _word(verdict: PathVerdict | None) -> str | None:
    return None if verdict is None else str(verdict.reason or "keep")
