from scrapy_dedup.core.boilerplate.names import Folding, design_names, names_in


def test_names_of_single_pages_are_not_of_the_design() -> None:
    pages = [[f"body>div.text>section#s{number}"] for number in range(10)]

    assert design_names(pages, 0.05) == {".text"}


def test_name_of_few_of_many_pages_is_not_of_the_design() -> None:
    assert design_names(([["body>div.text"]] * 95 + [["body>div.rare"]] * 5), 0.1) == {".text"}


def test_folded_path_has_only_names_of_the_design() -> None:
    folding = Folding(names_in(["body>div#page>p.lead"]))

    assert folding.path("body>div#page.new>section#one>p.lead.x") == "body>div#page>section>p.lead"


def test_any_number_of_different_steps_is_folded_in_little_memory() -> None:
    folding = Folding(())

    folded = {folding.step(f"p.c{number}") for number in range(20_002)}

    assert folded == {"p"}
