"""What people decide about one domain as a form on the dashboard, with a look at what it would do to a stored page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import Final

from scrapy_dedup.core.patterns_config import KEYS, ConfigTrial
from scrapy_dedup.report.dashboard_frame import NOTHING, button, crumbs, form, hidden, page_head
from scrapy_dedup.report.dashboard_parts import actions, and_more, domain_path, link_button, pane
from scrapy_dedup.report.explained import cleaned_text
from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, whole

MOST_BLOCKS: Final = 1_500
MOST_CHARS: Final = 500_000
MOST_EFFECTS: Final = 100
LONGEST_BLOCK: Final = 2_000

FIELDS: Final = {
    "boilerplate_css_selectors": ("Selectors of what is left out", "CSS, or XPath 1.0: one a line."),
    "boilerplate_text_patterns": ("Expressions of what is left out of the text", "Matched on the page's Markdown."),
    "pdf_boilerplate_patterns": ("Expressions of what is left out of PDF files", "Matched on the text of the file."),
    "keep_rules": (
        "Rules that are not carried out",
        "By name, path, selector or expression, as explanations show them.",
    ),
    "keep_blocks": ("Blocks that stay", "16 hexadecimal digits each, as explanations show them."),
    "keep_pages": ("Pages of which nothing is left out", "Keys of 32 hexadecimal digits."),
}

_RARE: Final = ("pdf_boilerplate_patterns", "keep_blocks", "keep_pages")


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """A block of the page: state is kept, removed (as today), goes or back; the rest is why."""

    text: str
    state: str
    layer: str = ""
    rule: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class PreviewEffect:
    """What one pattern would do on the page."""

    pattern: str
    blocks: int
    chars: int


@dataclass(frozen=True, slots=True)
class PreviewView:
    """One page, cut as it would be; `problem` stands in place of all the rest where there is something to say."""

    url: str = ""
    lines: tuple[PreviewLine, ...] = ()
    goes: int = 0
    comes_back: int = 0
    effects: tuple[PreviewEffect, ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    after: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ConfigView:
    """The form.

    Attributes:
        version: that is changed by it, 0 for none yet.
        fields: what stands in each.
        errors: what is wrong with some.
        locked: keys whose entries a form cannot hold.
        pages: (URL, title) of stored pages to look at.
        page: URL of the one that is looked at.
        conflict: that somebody else changed it meanwhile; "" where nobody did.
    """

    base: str
    domain: str
    version: int
    fields: Mapping[str, str]
    updated_at: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    pages: tuple[tuple[str, str], ...] = ()
    page: str = ""
    preview: PreviewView | None = None
    trial: ConfigTrial | None = None
    conflict: str = ""


def config_content(view: ConfigView, csrf_token: str) -> Html:
    """Return what stands in the frame of the configuration of a domain."""
    above = crumbs(("Domains", f"{view.base}domains"), (view.domain, domain_path(view.base, view.domain)))
    state = f"Version {whole(view.version)}" if view.version else "Nothing is decided yet"
    since = f", since {isolated(view.updated_at, 60)}" if view.updated_at else ""
    lead = Html(f"{state}{since}. Sites need none of this: it is for what the learned rules get wrong.")
    path = domain_path(view.base, view.domain, "config")
    content = joined(
        [
            hidden("version", str(view.version)),
            Html(
                f'<div class="editor">\n<div class="keys">\n{_keys(view)}\n{_buttons()}\n</div>\n{_look(view)}\n</div>'
            ),
        ]
    )
    conflict = NOTHING
    if view.conflict:
        again = link_button(path, Html("Look at the present version"))
        conflict = Html(f'<div class="notice wrong" role="alert"><p>{isolated(view.conflict, 400)}</p>{again}</div>')
    head = page_head(Html(f"Configuration of {isolated(view.domain, 120)}"), lead, above=above)
    return joined([head, conflict, form(path, content, csrf_token, kind="config")])


def _keys(view: ConfigView) -> Html:
    shown = joined(_field(view, key) for key in FIELDS if key not in _RARE)
    rare = joined(_field(view, key) for key in _RARE)
    is_open = any(view.fields.get(key) or key in view.errors or key in view.locked for key in _RARE)
    folded = f'<details class="folded rare"{" open" if is_open else ""}><summary>PDF files, blocks, pages</summary>'
    return Html(f"{shown}\n{folded}\n{rare}\n</details>")


def _buttons() -> Html:
    return actions(
        button("Save", kind="primary", name="action", value="save"),
        button("Try on all stored pages", name="action", value="try"),
        Html('<span class="without-script">' + button("Preview", name="action", value="preview") + "</span>"),
    )


def _field(view: ConfigView, key: str) -> Html:
    label, what = FIELDS[key]
    error = view.errors.get(key, "")
    wrong = f'\n<p class="wrong-field" id="{key}-wrong">{isolated(error, 600)}</p>' if error else ""
    told = f"{key}-what{f' {key}-wrong' if error else ''}"
    invalid = ' aria-invalid="true"' if error else ""
    if key in view.locked:
        told_locked = "It has entries of several lines, or with characters that nobody sees: change it by a command."
        return Html(
            f'<div class="entry"><p class="entry-name">{label}</p><p class="note-of-field">{told_locked} '
            f"<code>scrapy dedup config set</code></p></div>"
        )
    text = view.fields.get(key, "")
    rows = min(max(text.count("\n") + 2, 3), 12)
    return Html(
        f'<div class="entry"><label class="entry-name" for="{key}">{label}</label>\n'
        f'<p class="note-of-field" id="{key}-what">{what} <code>{key}</code></p>\n'
        # A line end right behind the tag is none of the text.
        f'<textarea id="{key}" name="{key}" rows="{rows}" spellcheck="false" autocapitalize="off" '
        f'aria-describedby="{told}"{invalid}>\n{escape(text)}</textarea>{wrong}</div>'
    )


def _look(view: ConfigView) -> Html:
    options = "".join(
        f'<option value="{escape(url)}">{attribute(title, 100)}</option>' for url, title in view.pages if url
    )
    choose = (
        '<label class="field"><span>Look at this stored page</span><input type="text" name="page" list="stored-pages" '
        f'maxlength="4000" spellcheck="false" value="{escape(view.page)}"></label>\n'
        f'<datalist id="stored-pages">{options}</datalist>'
    )
    path = domain_path(view.base, view.domain, "config", "preview")
    shown = preview_fragment(view.preview) if view.preview else Html('<p class="more">No page is looked at yet.</p>')
    trial = _trial(view.trial) if view.trial else NOTHING
    return Html(
        f'<div class="looked-at">\n<h2>What it would do</h2>\n{trial}\n{choose}\n'
        f'<div id="preview" data-preview="{escape(path)}" aria-live="polite" aria-busy="false">\n{shown}\n</div>\n'
        "</div>"
    )


def _trial(trial: ConfigTrial) -> Html:
    less = trial.chars_less
    effect = f"{whole(less)} characters less" if less >= 0 else f"{whole(-less)} characters more"
    example = f", such as {page_link(trial.example, limit=100)}" if trial.example else ""
    changed = f"{whole(trial.changed)} would change: {effect} in all{example}" if trial.changed else "none would change"
    return Html(f'<div class="notice" role="status"><p>Of {count(trial.pages, "stored page")}, {changed}.</p></div>')


def preview_fragment(preview: PreviewView) -> Html:
    """Return what a configuration would do to a page, before and after side by side; also for the script."""
    if preview.problem:
        return Html(f'<p class="wrong-field">{isolated(preview.problem, 600)}</p>')
    goes, back = count(preview.goes, "block"), whole(preview.comes_back)
    told = f"<strong>{goes}</strong> would go, <strong>{back}</strong> would come back"
    parts = [
        Html(f'<p class="preview-told">{told} on {page_link(preview.url, limit=120)}.</p>'),
        _held(preview.held),
        _effects(preview.effects),
        Html(
            f'<div class="panes">\n{pane("Before", joined(_lines(preview.lines)))}\n'
            f"{pane('After', cleaned_text(preview.after))}\n</div>"
        ),
    ]
    return joined(part for part in parts if part)


def _held(held: Sequence[tuple[str, str]]) -> Html:
    if not held:
        return NOTHING
    rows = joined(
        Html(f"<li><code>{isolated(pattern, 200)}</code> is not carried out here: {isolated(why, 200)}</li>")
        for pattern, why in held[:MOST_EFFECTS]
    )
    return Html(f'<ul class="rules held">\n{rows}\n</ul>')


def _effects(effects: Sequence[PreviewEffect]) -> Html:
    if not effects:
        return NOTHING
    rows = joined(
        Html(
            f"<li><code>{isolated(each.pattern, 200)}</code> "
            f'<span class="soft">{count(each.blocks, "block")}, {count(each.chars, "character")}</span></li>'
        )
        for each in effects[:MOST_EFFECTS]
    )
    more = and_more(len(effects) - MOST_EFFECTS, "more")
    return Html(
        '<details class="folded"><summary>What each pattern does here</summary>\n<ul class="rules">\n'
        f"{rows}\n</ul>{more}</details>"
    )


def _lines(lines: Sequence[PreviewLine]) -> list[Html]:
    shown = _fitting(lines)
    found = []
    for _, members in groupby(shown, key=lambda one: (one.state, one.layer, one.rule, one.where)):
        some = list(members)
        found.append(_group(some))
    if len(lines) > len(shown):
        found.append(and_more(len(lines) - len(shown), "more blocks"))
    return found


def _fitting(lines: Sequence[PreviewLine]) -> Sequence[PreviewLine]:
    chars = 0
    for number, one in enumerate(lines[:MOST_BLOCKS]):
        chars += min(len(one.text), LONGEST_BLOCK)
        if chars > MOST_CHARS:
            return lines[:number]
    return lines[:MOST_BLOCKS]


_TOLD: Final = {"goes": "Would go", "back": "Would come back", "removed": "Left out today, too"}


def _group(lines: Sequence[PreviewLine]) -> Html:
    first = lines[0]
    if first.state == "kept":
        return joined(Html(f"<p>{isolated(one.text, LONGEST_BLOCK)}</p>") for one in lines)
    where = f" <code>{isolated(first.where, 200)}</code>" if first.where else ""
    reason = f'{_TOLD.get(first.state, "")}: <span class="badge">{isolated(first.layer, 40)}</span> '
    reason += f"{isolated(first.rule, 200)}{where}"
    element = "ins" if first.state == "back" else "del"
    texts = joined(Html(f"<p><{element}>{isolated(one.text, LONGEST_BLOCK)}</{element}></p>") for one in lines)
    kind = {"goes": "cut by-patterns", "back": "comes-back", "removed": "cut as-before"}[first.state]
    return Html(f'<div class="{kind}">\n<p class="reason">{reason}</p>\n{texts}\n</div>')


assert tuple(sorted(FIELDS)) == tuple(sorted(KEYS))
