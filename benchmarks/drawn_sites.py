"""Sites drawn at random, with their main content marked: markup that the marked real sites do not have.

Each draws how its elements are called (words, utilities, hashes, nothing), which elements it uses (those of HTML 5, div
alone, nested tables), what surrounds its content, and of which kinds its pages are. Labels and values stand on many
pages, as real ones do, and are content all the same. Words are made of syllables and say nothing. What is content has
the attribute `data-gold`, which training alone reads. The same number draws the same site.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Final

from benchmarks.marked_sites import MarkedPage, marked_page

GOLD: Final = MappingProxyType[str, Any]({"main": "[data-gold]"})
# Of letters outside of Latin two make a syllable.
_SYLLABLES: Final = {
    "latin": "ba ce di fo gu la me ni po ru sa te vi zo ka lo mi nu pra ster ent al or is".split(),
    "cyrillic": [chr(0x430 + place % 32) + chr(0x430 + place * 7 % 32) for place in range(40)],
    "arabic": [chr(0x627 + place % 20) + chr(0x627 + place * 7 % 20) for place in range(24)],
    "cjk": [chr(0x4E00 + place * 13) for place in range(60)],
}
_SCRIPTS: Final = {"latin": 6, "cyrillic": 2, "arabic": 1, "cjk": 1}
_UTILITIES: Final = (
    "flex items-center justify-between px-4 py-2",
    "mt-4 text-sm text-gray-600",
    "grid grid-cols-2 gap-4",
    "text-2xl font-bold",
    "max-w-7xl mx-auto px-6",
    "rounded-lg border p-4",
    "space-y-4",
    "leading-7",
    "mb-2 font-medium",
    "w-full md:w-1/2",
    "row",
    "col-md-8",
    "col-md-4",
    "container",
    "d-flex",
    "mb-3",
    "p-2",
    "list-unstyled",
)
# What designers call the parts of a page.
_CALLED: Final = {
    "menu": "nav menu navbar topnav main-menu site-nav",
    "head": "header masthead top site-header banner",
    "foot": "footer colophon bottom site-footer page-footer",
    "side": "sidebar aside widgets secondary col-right",
    "crumbs": "breadcrumb crumbs path you-are-here",
    "related": "related more similar recommendations also-like teasers",
    "share": "share social sharing",
    "cookie": "cookie consent notice gdpr",
    "pages": "pagination pager paging pages",
    "form": "search subscribe newsletter signup",
    "main": "content main page primary wrapper inner",
    "title": "title headline heading name",
    "text": "text body description copy prose entry",
    "facts": "facts specs details meta info attributes data summary",
    "price": "price amount cost",
    "card": "card item entry product tile result post",
    "thread": "post message comment reply answer",
    "user": "user author poster profile",
    "filter": "filter facets refine sort",
}
_TITLES: Final = 80


class DrawnSite:
    """One site."""

    def __init__(self, number: int) -> None:
        self._chance = chance = random.Random(f"site {number}")
        self._address = f"https://drawn{number}.example"
        script = chance.choices(list(_SCRIPTS), list(_SCRIPTS.values()))[0]
        self._gap = "" if script == "cjk" else " "
        self._words = ["".join(chance.choices(_SYLLABLES[script], k=chance.randint(1, 4))) for _ in range(900)]
        self._names: dict[str, str] = {}
        self._style = chance.choice(("words", "words", "bem", "utilities", "modules", "hash", "none"))
        self._is_old = chance.random() < 0.2
        self._is_semantic = not self._is_old and chance.random() < 0.5
        self._topic, self._name = self._word(chance), self._title(2, chance)
        self._facts_as = "table" if self._is_old else chance.choice("dl table list rows spans divs".split())
        self._wraps = chance.randint(0, 3)
        self._menu = [self._title(chance.randint(1, 2), chance) for _ in range(chance.randint(4, 14))]
        self._foot = [self._title(chance.randint(1, 4), chance) for _ in range(chance.randint(6, 20))]
        self._legal = [self._sentence(chance) for _ in range(chance.randint(1, 3))]
        self._cookie = self._prose(2, chance)
        self._labels = [self._title(chance.randint(1, 2), chance) for _ in range(12)]
        self._values = [[self._title(1, chance) for _ in range(chance.randint(2, 5))] for _ in self._labels]
        self._units = [chance.choice(("min", "g", "cm", "kg", "€", "%", "kcal", "h", "km", "")) for _ in self._labels]
        self._users = [self._title(2, chance) for _ in range(15)]
        self._titles = [self._title(chance.randint(2, 7), chance) for _ in range(_TITLES)]
        self._traits: dict[str, float] = {}
        kinds: Sequence[Callable[[random.Random], str]] = (
            self._article,
            self._product,
            self._recipe,
            self._event,
            self._listing,
            self._thread,
            # Twice as often: there are many programs for forums.
            self._thread,
            self._classified,
            self._profile,
            self._reference,
            self._index,
            self._manual,
            self._directory,
            self._questions,
            self._contact,
            self._front,
        )
        self._kinds = chance.sample(kinds, chance.randint(1, 4))
        self._at = 0

    def pages(self, count: int) -> Iterator[MarkedPage]:
        """Yield so many of its pages."""
        for number in range(count):
            address = f"{self._address}/{number}/{_number_of(self._titles[number % _TITLES])}"
            if (page := marked_page(address, self.html(number), dict(GOLD))) is not None:
                yield page

    def html(self, number: int) -> str:
        """Return one of its pages."""
        own = random.Random(f"{self._address} {number}")
        self._at = number % _TITLES
        title = self._titles[self._at]
        content = self._kinds[number % len(self._kinds)](own)
        for wrap in range(self._wraps):
            content = self._box("main", content, f"w{wrap}")
        related = self._related(own) if self._has("related") else ""
        is_within = self._has("related within", 0.6)
        behind = (related if is_within else "") + self._behind(own)
        content = self._box("main", content + behind, "", "main")
        side = self._side(own) if self._has("side") else ""
        columns = [side, content] if self._has("side first") else [content, side]
        if self._is_old:
            cells = "".join(f"<td valign=top>{one}</td>" for one in columns if one)
            middle = f"<table width=100%><tr>{cells}</tr></table>"
        else:
            middle = self._box("main", "".join(columns), "outer")
        way = self._links("crumbs", [self._menu[0], own.choice(self._menu)], "plain") + f" » {escape(title)}"
        crumbs = self._box("crumbs", way) if self._has("crumbs") else ""
        notice = f"<p>{escape(self._cookie)}</p><button>OK</button>"
        cookie = self._box("cookie", notice) if self._has("cookie") else ""
        head = title + (f" | {self._name}" if self._has("name in title", 0.8) else "")
        return (
            f"<!doctype html><html><head><title>{escape(head)}</title></head><body>{cookie}{self._header(own)}{crumbs}"
            f"{middle}{'' if is_within else related}{self._footer()}</body></html>"
        )

    # Chance

    def _trait(self, name: str) -> float:
        """Return a number that is the same on all pages."""
        if name not in self._traits:
            self._traits[name] = random.Random(f"{self._address} {name}").random()
        return self._traits[name]

    def _has(self, name: str, share: float = 0.5) -> bool:
        """Say whether this is one of so large a share of the sites."""
        return self._trait(name) < share

    def _one_of(self, name: str, options: Sequence[str]) -> str:
        return options[int(self._trait(name) * len(options))]

    # Words

    def _word(self, own: random.Random) -> str:
        return self._words[int(own.random() ** 1.6 * len(self._words))]

    def _title(self, count: int, own: random.Random) -> str:
        return self._gap.join(self._word(own) for _ in range(count)).capitalize()

    def _sentence(self, own: random.Random) -> str:
        text = self._gap.join(self._word(own) for _ in range(own.randint(5, 18)))
        return text.capitalize() + own.choice((".", ".", ".", f", {self._word(own)}.", "!", "?"))

    def _prose(self, count: int, own: random.Random) -> str:
        return " ".join(self._sentence(own) for _ in range(count))

    def _linked(self, count: int, own: random.Random) -> str:
        """Return sentences as HTML, some with links."""
        made = []
        for _ in range(count):
            text = escape(self._sentence(own))
            if own.random() < self._trait("links in text") / 2:
                target = f'<a href="/{own.randint(0, 999)}">'
                is_whole = own.random() < 0.2
                text = f"{target}{text}</a>" if is_whole else f"{text} {target}{escape(self._word(own))}</a>"
            made.append(text)
        return " ".join(made)

    def _price(self, own: random.Random) -> str:
        currency = self._one_of("currency", ("€", "$", "£", "kr "))
        return f"{currency}{own.randint(1, 400)}.{own.choice(('00', '95', '99', '50'))}"

    # Elements

    def _called(self, role: str, part: str = "") -> str:
        """Return the attribute that names an element; empty for some."""
        key = f"{role} {part}"
        if key not in self._names:
            self._names[key] = self._drawn_name(role, part)
        return self._names[key]

    def _drawn_name(self, role: str, part: str) -> str:
        chance = random.Random(f"{self._address} {role} {part}")
        if self._style == "none" or chance.random() < 0.15:
            return ""
        if self._style == "utilities":
            return f' class="{" ".join(chance.sample(_UTILITIES, chance.randint(1, 2)))}"'
        if self._style == "hash":
            return f' class="css-{chance.randrange(16**6):06x}"'
        # What holds content may be called by what the site is about, which says nothing.
        of_role = chance.choice(_CALLED.get(role, "list links").split())
        word = chance.choices((of_role, self._topic, "box"), (6, 2, 2))[0]
        if self._style == "bem":
            return f' class="{word}__{part or "root"}"'
        if self._style == "modules":
            return f' class="{word.title()}_{part or "root"}__{chance.randrange(16**5):05x}"'
        return f' {"id" if chance.random() < 0.15 and not part else "class"}="{word}{"-" + part if part else ""}"'

    def _box(self, role: str, inner: str, part: str = "", tag: str = "div", *, gold: bool = False) -> str:
        attributes = (" data-gold" if gold else "") + self._called(role, part)
        if self._is_old:
            return f"<table{attributes}><tr><td valign=top>{inner}</td></tr></table>"
        tag = tag if self._is_semantic else "div"
        return f"<{tag}{attributes}>{inner}</{tag}>"

    def _leaf(self, role: str, text: str, part: str, tag: str, *, gold: bool = False) -> str:
        if self._is_old:
            tag = {"span": "font", "h2": "b", "h3": "b"}.get(tag, tag)
        return f"<{tag}{' data-gold' if gold else ''}{self._called(role, part)}>{escape(text)}</{tag}>"

    def _links(self, role: str, texts: Sequence[str], form: str = "") -> str:
        form = form or ("cells" if self._is_old else self._one_of(f"{role} as", ("list", "list", "plain", "divs")))
        made = [f'<a href="/{_number_of(text)}">{escape(text)}</a>' for text in texts]
        if form == "cells":
            return f"<table><tr>{''.join(f'<td>{one}</td>' for one in made)}</tr></table>"
        if form == "plain":
            return self._one_of(f"{role} between", (" | ", " ", " · ")).join(made)
        if form == "divs":
            return "".join(f"<div{self._called(role, 'item')}>{one}</div>" for one in made)
        return f"<ul{self._called(role, 'list')}>{''.join(f'<li>{one}</li>' for one in made)}</ul>"

    # What surrounds the content

    def _header(self, own: random.Random) -> str:
        logo = self._leaf("head", self._name, "logo", "h1" if self._has("h1 of the site", 0.15) else "a")
        form = '<form action="/s"><input name="q"><button>Go</button></form>' if self._has("search") else ""
        line = f'<span>{escape(self._legal[0])}</span><a href="/cart">{own.randint(0, 3)}</a>'
        top = self._box("head", line, "top") if self._has("top") else ""
        wide = self._box("menu", self._links("wide", self._foot), "wide") if self._has("wide menu") else ""
        menu = self._box("menu", self._links("menu", self._menu) + wide, "", "nav")
        return self._box("head", top + logo + form + menu, "", "header")

    def _footer(self) -> str:
        legal = "".join(f"<p>{escape(one)}</p>" for one in self._legal)
        form = "<form><label>Email</label><input><button>Send</button></form>" if self._has("letter", 0.4) else ""
        return self._box("foot", self._links("foot", self._foot) + form + legal, "", "footer")

    def _side(self, own: random.Random) -> str:
        heading = self._leaf("side", self._labels[-1], "h", "h3")
        blocks = [heading + self._links("side", self._foot[:6] + self._menu[:3])]
        if self._has("recent", 0.6):
            recent = self._links("recent", own.sample(self._titles, 5))
            blocks.append(self._leaf("side", self._labels[-2], "h", "h3") + recent)
        if self._has("side text", 0.3):
            blocks.append(f"<p>{escape(self._legal[-1])}</p>")
        return self._box("side", "".join(self._box("side", one, "block") for one in blocks), "", "aside")

    def _behind(self, own: random.Random) -> str:
        """Return what stands at the end of the content's own element."""
        share = self._box("share", self._links("share", ["Facebook", "Twitter", "Email", "WhatsApp"]))
        tags = self._box("related", self._links("tags", own.sample(self._menu + self._foot, 3)), "tags")
        beside = self._box("pages", self._links("beside", own.sample(self._titles, 2)), "nav")
        return "".join(one for name, one in (("share", share), ("tags", tags), ("beside", beside)) if self._has(name))

    def _related(self, own: random.Random) -> str:
        titles = own.sample(self._titles, own.randint(3, 8))
        cards = "".join(self._card(own, title, "related") for title in titles)
        heading = self._leaf("related", self._labels[-3], "h", "h2")
        return self._box("related", heading + self._box("related", cards, "grid"), "", "section")

    def _card(self, own: random.Random, title: str, role: str, *, gold: bool = False) -> str:
        is_linked = self._has("cards link", 0.85)
        name = f'<a href="/{_number_of(title)}">{escape(title)}</a>' if is_linked else escape(title)
        tag = "h3" if self._has("headings of cards", 0.6) else "div"
        inner = f"<{tag}{self._called(role, 'name')}>{name}</{tag}>"
        if self._has("prices of cards"):
            inner += f"<span{self._called('price', role)}>{self._price(own)}</span>"
        if self._has("texts of cards"):
            inner += f"<p{self._called(role, 'lead')}>{escape(self._sentence(own))}</p>"
        return self._box(role, inner, "card", gold=gold)

    # What is content

    def _head(self) -> str:
        title = escape(self._titles[self._at])
        if self._is_old and self._has("no headings", 0.4):
            return f"<b data-gold><font size=5>{title}</font></b><br>"
        tag = "h1" if self._has("h1", 0.85) else "h2"
        return f"<{tag} data-gold{self._called('title')}>{title}</{tag}>"

    def _body(self, own: random.Random, count: int) -> str:
        parts = []
        for _ in range(count):
            if own.random() < 0.25:
                parts.append(self._leaf("text", self._title(own.randint(2, 4), own), "h", "h2"))
            parts.append(f"<p>{self._linked(own.randint(1, 5), own)}</p>")
            if own.random() < 0.15:
                entries = "".join(f"<li>{escape(self._sentence(own))}</li>" for _ in range(own.randint(2, 6)))
                parts.append(f"<ul>{entries}</ul>")
        return self._box("text", "".join(parts), gold=True)

    def _facts(self, own: random.Random, count: int, first: int = 0) -> str:
        """Return labels that all pages have, with values that many pages have."""
        made = []
        for at in (place % len(self._labels) for place in range(first, first + count)):
            number = f"{own.choice((5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 250))} {self._units[at]}"
            value = number if self._units[at] and at % 3 else own.choice(self._values[at])
            made.append((escape(self._labels[at]), escape(value)))
        return self._pairs(made, "facts", gold=True)

    def _pairs(self, pairs: Sequence[tuple[str, str]], role: str, *, gold: bool = False) -> str:
        """Return labels and values in HTML as this site writes them."""
        outer, row = {
            "dl": ("dl", "<dt>{}</dt><dd>{}</dd>"),
            "table": (
                "table",
                "<tr><td>{}</td><td>{}</td></tr>" if self._is_old else "<tr><th>{}</th><td>{}</td></tr>",
            ),
            "list": ("ul", "<li>{}: {}</li>"),
            "rows": ("div", "<div><span>{}</span><span>{}</span></div>"),
            "spans": ("p", "<span>{} {}</span> "),
            "divs": ("div", "<div>{}: <strong>{}</strong></div>"),
        }[self._facts_as]
        inner = "".join(row.format(label, value) for label, value in pairs)
        return f"<{outer}{' data-gold' if gold else ''}{self._called(role, 'pairs')}>{inner}</{outer}>"

    def _dated(self, own: random.Random) -> str:
        date = f"{own.randint(1, 28)}.{own.randint(1, 12)}.{own.randint(2019, 2026)}"
        return self._leaf("facts", date, "date", self._one_of("date", ("span", "p", "div")), gold=True)

    def _article(self, own: random.Random) -> str:
        return self._head() + self._dated(own) + self._body(own, own.randint(2, 9))

    def _product(self, own: random.Random) -> str:
        tag = self._one_of("price", ("span", "div"))
        price = f"<{tag} data-gold{self._called('price')}>{self._price(own)}</{tag}>"
        state = self._leaf("facts", own.choice(("In stock", "Sold out")), "state", "p", gold=True)
        button = f"<label>{escape(self._labels[0])}</label><input><button>{escape(self._labels[1])}</button>"
        form = f"<form{self._called('form', 'cart')}>{button}</form>"
        facts = self._facts(own, 5)
        # Facts in a column of their own are content, too.
        facts = self._box("facts", facts, "column", "aside") if self._has("facts beside", 0.3) else facts
        return self._head() + self._box(
            "main", price + state + form + self._body(own, own.randint(1, 3)) + facts, "goods"
        )

    def _recipe(self, own: random.Random) -> str:
        unit = self._one_of("unit", ("g", "ml", "tbsp"))
        things = "".join(
            f"<li>{own.choice((1, 2, 50, 100, 200))} {unit} {escape(self._word(own))}</li>"
            for _ in range(own.randint(4, 10))
        )
        steps = "".join(f"<li>{escape(self._sentence(own))}</li>" for _ in range(own.randint(3, 7)))
        lists = f"<ul data-gold{self._called('text', 'things')}>{things}</ul>"
        lists += f"<ol data-gold{self._called('text', 'steps')}>{steps}</ol>"
        return self._head() + self._body(own, 1) + self._facts(own, 4) + lists + self._facts(own, 5, 5)

    def _event(self, own: random.Random) -> str:
        return self._head() + self._dated(own) + self._facts(own, 4) + self._body(own, own.randint(1, 3))

    def _classified(self, own: random.Random) -> str:
        return self._head() + self._facts(own, 6) + self._body(own, 1) + self._facts(own, 3, 6)

    def _profile(self, own: random.Random) -> str:
        return self._head() + self._facts(own, 7) + (self._body(own, 1) if own.random() < 0.6 else "")

    def _contact(self, own: random.Random) -> str:
        lines = (
            self._title(2, own),
            f"{self._title(1, own)} {own.randint(1, 200)}",
            f"+{own.randint(10, 99)} {own.randint(100, 999)} {own.randint(1000, 9999)}",
            f"{self._word(own)}@{self._word(own)}.example",
        )
        tag = self._one_of("address", ("address", "div", "p", "ul"))
        is_list = tag == "ul"
        inner = "".join(f"<li>{escape(one)}</li>" for one in lines) if is_list else "<br>".join(map(escape, lines))
        place = f"<{tag} data-gold{self._called('facts', 'place')}>{inner}</{tag}>"
        return self._head() + place + self._facts(own, 5) + self._body(own, own.randint(0, 2))

    def _listing(self, own: random.Random) -> str:
        boxes = "".join(f"<label><input type=checkbox>{escape(one)}</label>" for one in self._labels[:6])
        filters = self._box("filter", boxes, "", "aside")
        order = "".join(f"<option>{escape(one)}</option>" for one in self._labels[6:9])
        count = f"<span>{own.randint(8, 24)} / {own.randint(24, 400)} {escape(self._labels[9])}</span>"
        sort = self._box("filter", f"{count}<label>{escape(self._labels[10])}</label><select>{order}</select>", "line")
        titles = own.sample(self._titles, own.randint(8, 24))
        cards = self._box("card", "".join(self._card(own, title, "card", gold=True) for title in titles), "grid")
        pages = self._box("pages", self._links("pages", [str(at) for at in range(1, 8)]))
        return (
            self._head()
            + (filters if self._has("filters") else "")
            + (sort if self._has("sort") else "")
            + cards
            + pages
        )

    def _front(self, own: random.Random) -> str:
        """Return sections of cards, each with a heading."""
        parts = []
        for at in range(own.randint(2, 4)):
            titles = own.sample(self._titles, own.randint(3, 6))
            cards = self._box("card", "".join(self._card(own, title, "card") for title in titles), "grid")
            heading = self._leaf("text", self._labels[at], "h", "h2")
            parts.append(self._box("card", heading + cards, "row", "section", gold=True))
        return (self._head() if self._has("head of the front", 0.6) else "") + "".join(parts)

    def _thread(self, own: random.Random) -> str:
        """Return posts: what is said is content, who says it and what can be done with it is not."""
        posts = []
        for place in range(own.randint(2, 9)):
            tag = self._one_of("names of users", ("b", "a", "h4", "div"))
            user = f"<{tag}>{escape(own.choice(self._users))}</{tag}>"
            if self._has("ranks of users"):
                user += self._leaf("user", own.choice(self._values[4]), "rank", "div")
            if self._has("facts of users", 0.7):
                numbers = ((2, own.randint(1, 900)), (3, own.randint(2005, 2026)))
                user += self._pairs([(escape(self._labels[at]), str(number)) for at, number in numbers], "user")
            user = self._box("user", user)
            when = f"{own.randint(1, 28)}.{own.randint(1, 12)}.{own.randint(2005, 2026)}"
            line = f"#{place + 1} {when}" if self._has("numbered posts") else when
            head = self._leaf("thread", line, "head", "div") if self._has("heads of posts", 0.7) else ""
            if self._has("titles of posts", 0.3):
                head += self._leaf("thread", f"Re: {self._titles[self._at]}", "title", "h3")
            quote = (
                f"<blockquote>{escape(self._sentence(own))}</blockquote>"
                if own.random() < self._trait("quotes") / 2
                else ""
            )
            said = self._linked(own.randint(1, 6), own)
            said = f"<p>{said}</p>" if self._has("paragraphs of posts", 0.6) else said.replace(". ", ".<br>")
            text = self._box("thread", quote + said, "text", gold=True)
            signature = (
                self._box("user", escape(own.choice(self._legal)), "sign") if self._has("signatures", 0.3) else ""
            )
            tools = self._links("tools", self._labels[4:6])
            behind = text + signature + tools
            is_row = self._is_old or self._has("posts in rows", 0.2)
            posts.append(
                f"<tr><td>{user}</td><td>{head}{behind}</td></tr>"
                if is_row
                else self._box("thread", head + user + behind, "post")
            )
        inner = "".join(posts)
        return self._head() + (
            f"<table{self._called('thread', 'all')}>{inner}</table>" if inner.startswith("<tr>") else inner
        )

    def _reference(self, own: random.Random) -> str:
        cells = (f"<td>{escape(self._word(own))}</td>" * 3 for _ in range(own.randint(3, 12)))
        rows = "".join(f"<tr>{one}</tr>" for one in cells)
        heads = "".join(f"<th>{escape(one)}</th>" for one in self._labels[:3])
        code = f"<pre data-gold>{escape(self._sentence(own))}</pre>" if self._has("code") else ""
        return self._head() + self._body(own, 2) + f"<table data-gold><tr>{heads}</tr>{rows}</table>" + code

    def _index(self, own: random.Random) -> str:
        """Return lists of links."""
        parts = []
        for _ in range(own.randint(1, 6)):
            entries = []
            for _ in range(own.randint(3, 15)):
                name = escape(self._title(own.randint(1, 5), own))
                behind = f" {escape(self._sentence(own))}" if self._has("explained links", 0.4) else ""
                entries.append(f'<a href="/{own.randint(0, 9999)}">{name}</a>{behind}')
            is_list = self._has("lists of links", 0.7)
            inner = f"<ul>{''.join(f'<li>{one}</li>' for one in entries)}</ul>"
            parts.append(self._leaf("text", self._title(2, own), "h", "h2"))
            parts.append(inner if is_list else "".join(f"<p>{one}</p>" for one in entries))
        lead = f"<p>{self._linked(2, own)}</p>" if own.random() < 0.5 else ""
        return self._head() + self._box("text", lead + "".join(parts), "index", gold=True)

    def _manual(self, own: random.Random) -> str:
        """Return sections with code, terms and tables."""
        parts = []
        for _ in range(own.randint(1, 5)):
            anchor = escape(self._word(own))
            sign = f'<a href="#{anchor}">#</a>' if self._has("signs at headings", 0.4) else ""
            parts.append(f'<h2 id="{anchor}">{escape(self._title(own.randint(1, 4), own))}{sign}</h2>')
            parts.append(f"<p>{self._linked(own.randint(1, 3), own)}</p>")
            form = own.choice(("code", "terms", "table"))
            if form == "code":
                call = f"{escape(self._word(own))}({escape(self._word(own))})"
                parts.append(f"<pre{self._called('text', 'code')}><code>{call}</code></pre>")
            else:
                pairs = [(escape(self._word(own)), self._linked(1, own)) for _ in range(own.randint(1, 6))]
                row = (
                    "<dt><code>{}</code></dt><dd><p>{}</p></dd>"
                    if form == "terms"
                    else "<tr><td>{}</td><td>{}</td></tr>"
                )
                tag = "dl" if form == "terms" else "table"
                inner = "".join(row.format(*pair) for pair in pairs)
                parts.append(f"<{tag}{self._called('text', form)}>{inner}</{tag}>")
        return self._head() + self._box("text", "".join(parts), "manual", "article", gold=True)

    def _directory(self, own: random.Random) -> str:
        """Return a table of links."""
        rows = "".join(
            f'<tr><td><a href="/{own.randint(0, 9999)}">{escape(self._title(2, own))}</a></td>'
            f"<td>{own.randint(1, 900)}</td><td>{escape(own.choice(self._users))}</td></tr>"
            for _ in range(own.randint(5, 25))
        )
        return self._head() + f"<table data-gold{self._called('facts', 'all')}>{rows}</table>"

    def _questions(self, own: random.Random) -> str:
        pairs = [(escape(self._sentence(own)), self._linked(own.randint(1, 3), own)) for _ in range(own.randint(2, 8))]
        if self._has("folded answers", 0.4):
            one = "<details data-gold{}><summary>{}</summary><p>{}</p></details>"
            return self._head() + "".join(one.format(self._called("text", "faq"), *pair) for pair in pairs)
        inner = "".join(f"<h3>{question}</h3><p>{answer}</p>" for question, answer in pairs)
        return self._head() + self._box("text", inner, "faq", gold=True)


def _number_of(text: str) -> int:
    """Return a number of a text, the same in each process."""
    return sum(ord(letter) * (place + 7) for place, letter in enumerate(text)) % 99_991
