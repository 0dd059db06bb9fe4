from scrapy_dedup.core.boilerplate.names import Folding, design_names


def test_names_of_single_pages_are_not_of_the_design() -> None:
    pages = [[f"body>div.text>section#s{number}"] for number in range(10)]

    assert design_names(pages, 0.05) == {".text"}


def test_any_number_of_different_steps_is_folded_in_little_memory() -> None:
    folding = Folding(())

    folded = {folding.step(f"p.c{number}") for number in range(20_002)}

    assert folded == {"p"}
