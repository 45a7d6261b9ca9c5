"""Facts as a person reads them."""

from schemas.facts import GroupFact, QueueFact
from streaming.notices.evidence_english import reason_in_short
from streaming.wording.times import moment


def why(fact: QueueFact | GroupFact) -> str | None:
    """The reason as a sentence, an exclusion by its name."""
    return reason_in_short(fact.reason, fact.reason_details, moment)
