"""What another template would change, shown before anything is written."""

from typing import Final

from scrapy_dedup.report.dashboard_frame import NOTHING, crumbs, page_head, panel
from scrapy_dedup.report.dashboard_parts import actions, and_more, domain_path, link_button, template_path
from scrapy_dedup.report.dashboard_template_values import TemplateTrial, TemplateView, TrialEffect
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, whole

MOST_EFFECTS: Final = 20
MOST_TEXTS: Final = 12


def confirm_content(view: TemplateView, trial: TemplateTrial, title: Html, go_on: Html) -> Html:
    """Return what stands in the frame before a template is changed: which pages would change, and the way on.

    Args:
        view: of the template as it is.
        trial: what would change.
        title: what is to be done.
        go_on: the form that does it.
    """
    number = len(trial.effects)
    if not trial.pages:
        told = Html("No stored page of this layout could be tried.")
    elif not number:
        told = Html(f"Of {count(trial.pages, 'stored page')} of this layout none would change.")
    else:
        told = Html(f"Of {count(trial.pages, 'stored page')} of this layout <em>{whole(number)}</em> would change.")
    path = template_path(view.base, view.domain, view.layout)
    above = crumbs(
        ("Templates", f"{view.base}templates"), (view.domain, domain_path(view.base, view.domain)), (view.layout, path)
    )
    effects = joined(_effect(each) for each in trial.effects[:MOST_EFFECTS])
    return joined(
        [
            page_head(title, told, above=above),
            actions(go_on, link_button(path, Html("Cancel"))),
            panel("What would change", joined([effects, and_more(number - MOST_EFFECTS, "more pages")]))
            if number
            else NOTHING,
        ]
    )


def _effect(each: TrialEffect) -> Html:
    gone = joined(_text("del", "&minus;", "would go", text) for text in each.gone[:MOST_TEXTS])
    back = joined(_text("ins", "+", "would come back", text) for text in each.back[:MOST_TEXTS])
    left = len(each.gone) + len(each.back) - min(len(each.gone), MOST_TEXTS) - min(len(each.back), MOST_TEXTS)
    return Html(
        f'<article class="card effect">\n<h3>{page_link(each.url)}</h3>\n'
        f'<ul class="differences">\n{gone}\n{back}\n</ul>\n{and_more(left, "more texts")}</article>'
    )


def _text(element: str, sign: str, said: str, text: str) -> Html:
    return Html(
        f'<li><{element}><span aria-hidden="true">{sign} </span><span class="unseen">{said}: </span>'
        f"{isolated(text, 300)}</{element}></li>"
    )
