"""From what some pages of a site show to the template by which its pages are cut."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.path_verdicts import learn
from scrapy_dedup.core.tails import learn_tails
from scrapy_dedup.core.templates import Template, template_of


def learn_template(observations: Sequence[Observation], looks: Sequence[Mapping[str, PathLooks]] = ()) -> Template:
    """Return the template of some pages of one site; their order does not matter.

    Args:
        observations: one a page.
        looks: how the text on each path looks, for those of the pages that a browser showed.
    """
    template = template_of(learn(observations, looks=looks))
    return replace(template, tails=learn_tails(observations, template.lookup))
