from tests.commands.running import Shop
from tests.service.stored_pages import BANNER, DOMAIN, unique


def test_the_worst_domain_comes_first_then_the_total(finished_shop: Shop) -> None:
    lines = [line.split() for line in finished_shop.run("stats").out.splitlines()]

    assert [line[0] for line in lines[2:5]] == [DOMAIN, "other.example", "Total"]
    assert lines[2][1:4] == ["6", "51", "%"]
    assert " ".join(lines[-1]) == "1 of 2 domains exceeds 10 %."


def test_json_has_the_same_figures(finished_shop: Shop) -> None:
    found = finished_shop.run("stats", "--json").json

    own, repeated = 6 * len(unique(0)), 6 * len(BANNER + "Menu")
    assert found["domains"] == [
        {
            "domain": DOMAIN,
            "pages": 6,
            "chars_in": own + repeated,
            "chars_out": own,
            "removed_share": round(repeated / (own + repeated), 6),
        },
        {"domain": "other.example", "pages": 6, "chars_in": own, "chars_out": own, "removed_share": 0.0},
    ]
    assert found["total"] == {
        "domains": 2,
        "pages": 12,
        "chars_in": 2 * own + repeated,
        "chars_out": 2 * own,
        "removed_share": round(repeated / (2 * own + repeated), 6),
    }
    assert (found["project"], found["domains_above_10_percent"]) == ("shop", 1)


def test_json_tells_what_was_learned(finished_shop: Shop) -> None:
    other, ours = finished_shop.run("stats", "--json").json["learned"]

    assert (other["domain"], other["blocks_boilerplate"]) == ("other.example", 0)
    del ours["updated_at"]
    assert ours == {
        "domain": DOMAIN,
        "method": "template",
        "pages_analyzed": 6,
        "blocks_total": 8,
        "blocks_boilerplate": 2,
        "bytes_removed_avg": len(BANNER + "Menu"),
        "threshold_pct": 0.7,
        "min_pages": 5,
        "min_block_chars": 50,
    }
