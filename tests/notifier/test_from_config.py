"""From the configuration and the alert rules to a plan."""

from typing import Any

from streaming.notices.notice import Notice
from streaming.notifier.from_config import link_template
from tests.sinks.messages import message


def test_link_names_cluster_and_group() -> None:
    def link(template: str, **changed: Any) -> str | None:
        notice: Notice = message(**changed).notice
        return link_template(template)(notice)

    assert link("https://x/{cluster}?g={group}", groups=("a/b %",)) == "https://x/prod?g=a%2Fb%20%25"
    assert link("https://x/{group}", groups=("a", "b")) == "https://x/"
    assert link("") is None
