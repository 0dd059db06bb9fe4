import pytest

from scrapy_dedup.core.trust import LastmodTrust, ValidatorTrust


@pytest.mark.parametrize(
    ("counts", "trusted"),
    [
        pytest.param(ValidatorTrust(), True, id="nothing-known"),
        pytest.param(ValidatorTrust(sent=19, equal=19), True, id="too-few-to-tell"),
        pytest.param(ValidatorTrust(sent=20, equal=20), False, id="changes-on-every-deploy"),
        pytest.param(ValidatorTrust(sent=100, not_modified=4, equal=96), False, id="next-to-never-304"),
        pytest.param(ValidatorTrust(sent=100, not_modified=5, equal=95), True, id="boundary-is-useful"),
        pytest.param(ValidatorTrust(sent=100), True, id="all-had-changed"),
        pytest.param(ValidatorTrust(sent=1, not_modified=1, lied=1), False, id="one-lie-of-one"),
        pytest.param(ValidatorTrust(sent=100, not_modified=100, lied=2), True, id="lies-are-rare"),
        pytest.param(ValidatorTrust(sent=100, not_modified=100, lied=3), False, id="never-changes"),
        pytest.param(ValidatorTrust(sent=20, equal=20, kept=1), True, id="kept-since-the-last-deploy"),
        pytest.param(ValidatorTrust(sent=20, equal=20, kept=1, renewed=1), False, id="kept-by-some"),
        pytest.param(ValidatorTrust(sent=20, not_modified=1, lied=1, kept=1), False, id="kept-by-a-liar"),
    ],
)
def test_validators_are_sent_while_they_are_of_use(counts: ValidatorTrust, *, trusted: bool) -> None:
    assert counts.judge().trusted is trusted


@pytest.mark.parametrize(
    ("counts", "trusted"),
    [
        pytest.param(LastmodTrust(), False, id="nothing-shown"),
        pytest.param(LastmodTrust(right=19), False, id="too-few-to-tell"),
        pytest.param(LastmodTrust(right=20), True, id="always-right"),
        pytest.param(LastmodTrust(right=98, wrong=2), True, id="boundary-is-trusted"),
        pytest.param(LastmodTrust(right=97, wrong=3), False, id="hides-changes"),
    ],
)
def test_dates_are_believed_once_shown_to_be_true(counts: LastmodTrust, *, trusted: bool) -> None:
    assert counts.judge().trusted is trusted


def test_reasons_have_the_counts() -> None:
    assert LastmodTrust(412, 18).judge().reason == "lastmod was right in 412 of 430 checks"
    assert ValidatorTrust(9, 3, 6).judge().reason == "3 of 9 unchanged pages were not sent again"
    assert ValidatorTrust(9, 9, 0, 9).judge().reason == "9 pages had changed behind their validators"


def test_old_counts_lose_weight() -> None:
    assert ValidatorTrust(1_000, 600, 300, 10).halved() == ValidatorTrust(500, 300, 150, 5)
    assert LastmodTrust(900, 100).halved() == LastmodTrust(450, 50)
    assert ValidatorTrust(999, 9).halved() == ValidatorTrust(999, 9)
    assert LastmodTrust(999).halved() == LastmodTrust(999)
