"""The areas that a report has, for the processes that are to run on this machine."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from streaming.config.alerts import Alerts
from streaming.config.sections import Config
from streaming.doctor.checks import Processes
from streaming.doctor.examination import Area, found_by, in_process


def areas(
    config: Config, alerts: Alerts, processes: Processes, *, sends_pages: bool, contends: bool, file: Path | None
) -> Iterator[Area]:
    """``sends_pages``: a test page through every sink. ``contends``: a contest of writers in each object store.
    ``file``: the configuration file.
    """
    yield Area("machine", partial(found_by, "machine", config, processes))
    if "run" in processes:
        yield Area("java", partial(found_by, "machine", config, function="java_checks"))
    if processes & {"run", "collect"}:
        yield Area("kafka", partial(found_by, "kafka", config, processes))
    if "collect" in processes:
        yield Area("rocketmq", partial(found_by, "rocketmq", config))
    if processes & {"run", "notify", "web"}:
        late_seconds = alerts.monitor.late_seconds
        yield Area("tables", partial(in_process, "tables", config, processes, late_seconds, contends))
    yield Area("upgrade", partial(in_process, "upgrade", config, processes))
    if processes & {"run", "notify"}:
        yield Area("sinks", partial(found_by, "sinks", config, alerts, sends_pages, file))
    yield Area("processes", partial(found_by, "processes", config, processes))
