from scrapy_dedup.core.recrawl.trust import LastmodTrust, ValidatorTrust
from tests.tables import table


@table("core/validators_are_sent_while_they_are_of_use")
def test_validators_are_sent_while_they_are_of_use(counts: dict[str, int], *, trusted: bool) -> None:
    assert ValidatorTrust(**counts).judge().trusted is trusted


@table("core/dates_are_believed_once_shown_to_be_true")
def test_dates_are_believed_once_shown_to_be_true(counts: dict[str, int], *, trusted: bool) -> None:
    assert LastmodTrust(**counts).judge().trusted is trusted


def test_reasons_have_the_counts() -> None:
    assert LastmodTrust(412, 18).judge().reason == "lastmod was right in 412 of 430 checks"
    assert ValidatorTrust(9, 3, 6).judge().reason == "3 of 9 unchanged pages were not sent again"
    assert ValidatorTrust(9, 9, 0, 9).judge().reason == "9 pages had changed behind their validators"


def test_old_counts_lose_weight() -> None:
    assert ValidatorTrust(1_000, 600, 300, 10).halved() == ValidatorTrust(500, 300, 150, 5)
    assert LastmodTrust(900, 100).halved() == LastmodTrust(450, 50)
    assert ValidatorTrust(999, 9).halved() == ValidatorTrust(999, 9)
    assert LastmodTrust(999).halved() == LastmodTrust(999)
