import pytest

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, RepeatPolicy
from scrapy_dedup.service.learning.learning import CHECKPOINTS, DomainKnowledge, Learner, Sample, to_rest
from scrapy_dedup.settings import Settings

MENU, FOOTER = 1, 2
POLICY = RepeatPolicy(threshold_pct=0.7, min_pages=5)
SAMPLES = {MENU: Sample("body>nav", "Menu"), FOOTER: Sample("body>footer", "Footer")}


def a_learner(learn_pages: int = 20, policy: RepeatPolicy = POLICY) -> Learner:
    return Learner("site.example", "html", policy, learn_pages)


def a_page(number: int, *repeating: int) -> dict[int, Sample]:
    """Return the blocks of a page: one of its own, and some that repeat."""
    return {100 + number: Sample("body>p", f"Own {number}"), **{key: SAMPLES[key] for key in repeating}}


def learn_from(learner: Learner, pages: int, *repeating: int, first: int = 0) -> list[bool]:
    return [learner.count(b"%d" % number, a_page(number, *repeating)) for number in range(first, first + pages)]


class TestCounting:
    def test_a_cold_domain_is_learned_when_its_batch_is_let_go_or_has_enough_pages(self) -> None:
        assert learn_from(a_learner(learn_pages=20), 20, MENU) == [False] * 19 + [True]

    def test_a_known_domain_is_learned_anew_at_checkpoints(self) -> None:
        learner = a_learner(learn_pages=100)
        learner.known = True

        due = learn_from(learner, 99, MENU)

        assert [number + 1 for number, is_due in enumerate(due) if is_due] == list(CHECKPOINTS)

    def test_after_enough_pages_no_more_are_counted(self) -> None:
        learner = a_learner(learn_pages=6)
        learn_from(learner, 6, MENU)
        learner.learn()

        assert learn_from(learner, 20, FOOTER, first=50) == [False] * 20
        assert learner.counts.pages == 0
        assert not learner.learn()
        assert set(learner.boilerplate.counts) == {MENU}


class TestLearning:
    def test_fewer_pages_than_before_do_not_replace_what_is_known(self) -> None:
        learner = a_learner(learn_pages=60)
        learner.recall(DomainKnowledge(Boilerplate(30, {FOOTER: 30}, 40), SAMPLES))
        learn_from(learner, 29, MENU)

        assert not learner.learn()
        assert set(learner.boilerplate.counts) == {FOOTER}

    def test_as_many_pages_as_before_replace_what_is_known(self) -> None:
        """So a redesigned site is learned anew, and a block that stopped being boilerplate comes back."""
        learner = a_learner(learn_pages=60)
        learner.recall(DomainKnowledge(Boilerplate(30, {FOOTER: 30}, 40), SAMPLES))
        learn_from(learner, 30, MENU)

        assert learner.learn()
        assert dict(learner.boilerplate.counts) == {MENU: 30}


KNOWN = {"young": 1, "known_a": 3, "known_b": 3, "known_c": 3}
YOUNG = {"a": 4, "b": 1, "c": 4, "d": 1}


def domains(pages: dict[str, int]) -> list[Learner]:
    learners = [Learner(name, "html", POLICY, 20) for name in pages]
    for learner in learners:
        learn_from(learner, pages[learner.domain])
        learner.known = learner.domain.startswith("known")
    return learners


class TestResting:
    """Each domain holds its pages and one more."""

    @pytest.mark.parametrize(
        ("pages", "most_pages", "gone"),
        [
            (KNOWN, 14, []),
            (KNOWN, 12, ["known_a"]),
            (KNOWN, 7, ["known_a", "known_b"]),
            (YOUNG, 13, ["d", "b"]),
            (YOUNG, 10, ["d", "b", "c"]),
        ],
    )
    def test_known_domains_go_met_longest_ago_and_then_those_with_the_fewest_pages(
        self, pages: dict[str, int], most_pages: int, gone: list[str]
    ) -> None:
        assert [learner.domain for learner in to_rest(domains(pages), most_pages)] == gone

    def test_domain_whose_pages_wait_stays(self) -> None:
        busy, free = domains({"known_a": 3, "known_b": 3})
        busy.in_doubt.append(("a page", Settings()))

        assert to_rest([busy, free], 2) == [free]

    def test_domains_met_in_turn_are_learned_though_there_is_no_room_for_all(self) -> None:
        learners = {name: Learner(name, "html", POLICY, 20) for name in "abcdefghij"}
        learned: set[str] = set()
        for number in range(60):
            for name in learners:
                learner = learners.setdefault(name, Learner(name, "html", POLICY, 20))
                learner.count(b"%d" % number, a_page(number, MENU))
                if learner.learn():
                    learned.add(name)
                for gone in to_rest(list(learners.values()), 20):
                    learners[gone.domain] = Learner(gone.domain, "html", POLICY, 20)
                    learners[gone.domain].known = gone.domain in learned

        assert learned == set("abcdefghij")
