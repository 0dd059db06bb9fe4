from tests.commands.running import Shop, documented
from tests.service.stored_pages import DOMAIN


def test_the_worst_domain_comes_first_then_the_total(finished_shop: Shop) -> None:
    lines = [line.split() for line in finished_shop.run("report", "--domains").out.splitlines()]

    assert [line[0] for line in lines[2:5]] == [DOMAIN, "other.example", "Total"]
    assert lines[2][1:4] == ["6", "51", "%"]
    assert " ".join(lines[-1]) == "1 of 2 domains exceeds 10 %."


def test_json_has_the_same_figures(finished_shop: Shop) -> None:
    found = finished_shop.run("report", "--domains", "--json").json

    assert found["domains"] == documented("stats")["domains"]
    assert found["total"] == documented("stats")["total"]
    assert (found["project"], found["domains_above_10_percent"]) == ("shop", 1)


def test_json_tells_what_was_learned(finished_shop: Shop) -> None:
    other, ours = finished_shop.run("report", "--domains", "--json").json["learned"]

    assert (other["domain"], other["blocks_boilerplate"]) == ("other.example", 0)
    del ours["updated_at"]
    assert ours == documented("stats")["learned"]
