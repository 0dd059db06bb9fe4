"""What a site's own word is worth: validators and sitemap dates, judged by the counts of when it was right."""

from typing import Final

from msgspec import Struct

# Counts are halved at this many, so that a site that mends its ways is believed again.
_REMEMBERED: Final = 1_000


class TrustPolicy(Struct, frozen=True):
    """When counts are enough, and what they must show."""

    min_checks: int = 20
    """Below it a site is believed: a validator costs two headers, a wrong 304 is found when its age is over."""
    useful_share: float = 0.05
    """Least share of 304s among the answers for pages that had not changed; below it sending is of no use."""
    wrong_share: float = 0.02
    """Most share of answers that said "unchanged" of a page that had changed."""


DEFAULT_POLICY: Final = TrustPolicy()


class Trust(Struct, frozen=True):
    """Whether a site's word is taken, with the counts behind it."""

    trusted: bool
    reason: str


class ValidatorTrust(Struct, frozen=True):
    """What a domain's answers to conditional requests were."""

    sent: int = 0
    """Conditional requests that were answered by 200 or 304."""
    not_modified: int = 0
    """304s."""
    equal: int = 0
    """200s whose main text had not changed: the validator changes on every deploy, or by the minute."""
    lied: int = 0
    """Full fetches after one or more 304s that found other text under the very validators the 304s confirmed."""
    kept: int = 0
    """Of this run: pages that came whole and unchanged, nobody having asked for less, under the validators they had."""
    renewed: int = 0
    """Of this run: the same under other validators."""

    def judge(self, policy: TrustPolicy = DEFAULT_POLICY) -> Trust:
        """Return whether it is worth sending validators."""
        # Where a changed page answers 304, a crawl never hears of the change: few such cases are enough.
        if self.lied and self.lied > policy.wrong_share * self.not_modified:
            return Trust(trusted=False, reason=f"{self.lied} pages had changed behind their validators")
        asked = self.not_modified + self.equal
        if self.kept > self.renewed:
            # One deploy that changes every validator is no reason never to ask again.
            return Trust(trusted=True, reason=f"{self.kept} of {self.kept + self.renewed} pages kept their validators")
        if asked >= policy.min_checks and self.not_modified < policy.useful_share * asked:
            return Trust(trusted=False, reason=f"{self.not_modified} of {asked} unchanged pages were not sent again")
        return Trust(trusted=True, reason=f"{self.not_modified} of {asked} unchanged pages were not sent again")

    def halved(self) -> "ValidatorTrust":
        """Return the counts with half the weight, once there are many; for the start of a run."""
        if self.sent < _REMEMBERED:
            return self
        return ValidatorTrust(self.sent // 2, self.not_modified // 2, self.equal // 2, self.lied // 2)


class LastmodTrust(Struct, frozen=True):
    """What a domain's sitemap dates were worth where the page was fetched all the same.

    A date that says "changed" of a page that had not only costs a fetch, and is not counted.
    """

    right: int = 0
    """The date said unchanged, and the page was."""
    wrong: int = 0
    """The date said unchanged, but the page had changed."""

    def judge(self, policy: TrustPolicy = DEFAULT_POLICY) -> Trust:
        """Return whether pages may be left alone because of their date: only once it was shown to be true."""
        checks = self.right + self.wrong
        reason = f"lastmod was right in {self.right} of {checks} checks"
        return Trust(checks >= policy.min_checks and self.wrong <= policy.wrong_share * checks, reason)

    def halved(self) -> "LastmodTrust":
        """Return the counts with half the weight, once there are many; for the start of a run."""
        if self.right + self.wrong < _REMEMBERED:
            return self
        return LastmodTrust(self.right // 2, self.wrong // 2)
