from dataclasses import replace

from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep.recleaning import Recleaned, RecleaningRepository
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import a_decision, a_document, a_key, a_source, a_time, document_of, source_of


def reclean(store: Store, project: ProjectStore, *pages: Recleaned, keep_decisions: int = 100) -> None:
    with store.session() as session:
        repository = RecleaningRepository(session, project.id, layer="boilerplate", keep_decisions=keep_decisions)
        repository.write(pages)
        session.commit()


def a_page(name: object = 1, *, text: str | None = "less", reason: str | None = None) -> Recleaned:
    decision = None if reason is None else a_decision(name, reason=reason, decided_at=a_time(1))
    return Recleaned(a_key(name), text, 10, 4, decision)


def test_text_figures_and_reason_change_together(store: Store, project: ProjectStore) -> None:
    project.write([a_source(), a_document(chars_in=10, chars_out=10, title="Tea"), a_decision(reason="old")])

    reclean(store, project, a_page(reason="new"))

    assert source_of(project).cleaned_content == "less"
    document = document_of(project)
    assert (document.chars_in, document.chars_out, document.title) == (10, 4, "Tea")
    assert [(each.reason, each.decided_at, each.run_id) for each in project.decisions(a_key())] == [
        ("new", a_time(1), None)
    ]


def test_each_layer_has_a_decision_of_its_own(store: Store, project: ProjectStore) -> None:
    project.write([a_source(), a_decision(layer="patterns", reason="old"), a_decision(layer="canonical")])
    page = a_page(reason="new")
    patterns = a_decision(1, layer="patterns", reason="more", decided_at=a_time(1))

    for one in (replace(page, others=(patterns,)), page):
        with store.session() as session:
            layers = ("boilerplate", "patterns")
            RecleaningRepository(session, project.id, layer=layers, keep_decisions=9).write([one])
            session.commit()
        found = {each.layer: each.reason for each in project.decisions(a_key())}
        assert found.get("patterns") == ("more" if one.others else None)
        assert found["boilerplate"] == "new"
        assert "canonical" in found
