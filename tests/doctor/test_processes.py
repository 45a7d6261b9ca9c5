"""What a running process answers, by the endpoints that it really has."""

import pytest

from streaming.doctor.checks import Verdict
from streaming.doctor.processes import _ready
from tests.metrics.test_endpoints import Fake, served


@pytest.mark.parametrize(
    ("is_standby", "troubles", "verdict", "found"),
    [
        (False, [], Verdict.FINE, "ready"),
        (True, ["standby: the job waits until process 7 ends"], Verdict.FINE, "standby"),
        (False, ["no facts were written for 40 s"], Verdict.WRONG, "not ready: no facts were written for 40 s"),
    ],
)
def test_process_that_is_ready_waits_or_has_a_trouble(
    is_standby: bool, troubles: list[str], verdict: Verdict, found: str
) -> None:
    process = Fake()
    process.is_standby, process.troubles = is_standby, troubles
    with served(process) as port:
        check = _ready("metrics.listen", ("127.0.0.1", port), is_tls=False)
    assert (check.verdict, check.found) == (verdict, found)
