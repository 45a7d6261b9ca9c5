"""What Spark writes into its event log: under which settings it runs, and which executor did what."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def log_settings(folder: Path) -> dict[str, str]:
    """To be said to Spark, so that it writes a log into this folder."""
    return {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": folder.as_uri()}


def effective_settings(folder: Path) -> dict[str, str]:
    """What Spark itself says that it runs under."""
    for event in events(folder, "SparkListenerEnvironmentUpdate"):
        return dict(event["Spark Properties"])
    raise AssertionError(f"no settings in {folder}")


def executors_with_state(folder: Path, after_ms: int = 0) -> set[str]:
    """The executors that have committed partitions of a query's state, in tasks that began after this time."""
    tasks = (event["Task Info"] for event in events(folder, "SparkListenerTaskEnd"))
    return {task["Executor ID"] for task in tasks if task["Launch Time"] >= after_ms and _committed_state(task)}


def events(folder: Path, kind: str) -> Iterator[Event]:
    """Of one kind, as far as they are written: the last line may be incomplete."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for line in path.read_text().splitlines(keepends=True):
            if f'"{kind}"' in line and line.endswith("\n"):
                yield json.loads(line)


def _committed_state(task: Event) -> bool:
    return not task["Failed"] and any(one.get("Name") == "time to commit changes" for one in task["Accumulables"])
