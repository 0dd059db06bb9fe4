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


class TestResting:
    """Each domain holds its pages and one more."""

    def domains(self, **pages: int) -> list[Learner]:
        learners = []
        for name, number in pages.items():
            learner = Learner(f"{name}.example", "html", POLICY, 20)
            learn_from(learner, number)
            learner.known = name.startswith("known")
            learners.append(learner)
        return learners

    def named(self, learners: list[Learner], most_pages: int) -> list[str]:
        return [learner.domain.partition(".")[0] for learner in to_rest(learners, most_pages)]

    def test_nobody_goes_while_there_is_room(self) -> None:
        assert self.named(self.domains(known=3, young=4), 9) == []

    def test_known_domains_go_first_and_of_them_those_met_longest_ago(self) -> None:
        assert self.named(self.domains(young=1, known_a=3, known_b=3, known_c=3), 12) == ["known_a"]
        assert self.named(self.domains(young=1, known_a=3, known_b=3, known_c=3), 7) == ["known_a", "known_b"]

    def test_of_others_those_go_that_have_the_fewest_pages_and_the_last_met_first(self) -> None:
        young = self.domains(a=4, b=1, c=4, d=1)

        assert self.named(young, 13) == ["d", "b"]
        assert self.named(young, 10) == ["d", "b", "c"]

    def test_domain_whose_pages_wait_stays(self) -> None:
        busy, free = self.domains(known_a=3, known_b=3)
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
