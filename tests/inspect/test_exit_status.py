"""What a look is about, and what its exit status says."""

import pytest

from streaming.cli.exit_status import status_of_look
from streaming.config.sections import Config
from streaming.inspect.inspection import InspectOptions, expecting_members
from streaming.inspect.snapshot import EmptyGroups, InspectedCluster, InspectedGroup


def test_group_that_is_named_keeps_its_rules() -> None:
    config = Config.model_validate({"groups": [{"group": "o*", "strategy": "AVG"}]})
    settings = expecting_members(config.settings(), "prod", ("orders", "p*"))
    rule = settings.rule_for("prod", "orders")
    assert (rule.strategy, rule.always_on) == ("AVG", True)
    assert not settings.rule_for("prod", "payments").always_on
    assert InspectOptions(seconds=60).latest_s > 60


@pytest.mark.parametrize(
    ("statuses", "silent", "code"),
    [
        (["healthy"], {}, 0),
        (["healthy", "excluded"], {}, 0),
        (["healthy", "settling"], {}, 2),
        (["healthy", "unknown"], {}, 2),
        (["healthy"], {"b": "no answer"}, 2),
        (["excluded"], {}, 2),
        ([], {}, 2),
        (["empty"], {}, 2),
        (["findings", "unknown"], {"b": "no answer"}, 1),
    ],
)
def test_exit_status(statuses: list[str], silent: dict[str, str], code: int) -> None:
    groups = tuple(
        InspectedGroup(
            cluster="c", group="g", ts=0, looked_s=0, status=status, reason=None, message_model=None, orderly=None,
            consume_enable=None, strategies=None,
        )
        for status in statuses
    )  # fmt: skip
    picture = InspectedCluster(
        cluster="c", ts=0, looked_s=0, brokers=("b",), untold=(), empty=EmptyGroups(), silent=silent, groups=groups
    )
    assert status_of_look([picture]) == code
