"""A second process waits for the first one's death, and takes over: nothing is lost, and nothing comes twice."""

import os
import re
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.file_lock import holder_of
from streaming.lease import local_leases
from streaming.lease_file import NAME as LEASE
from streaming.loopback import LoopbackKafka
from streaming.loopback.ports import free_port
from streaming.wall_clock import now_ms
from testing import tables
from testing.hook import Told
from testing.http_server import Server
from testing.job import EVENKEEL, PATIENCE_S, child_environment
from testing.waiting import until
from testing.workload import end_offsets, folded, recorded, send
from testing.written import commit
from tests.cli.test_notify import configured
from tests.e2e.conftest import MakeJob
from tests.metrics.scraping import get, scrape
from tests.notifier.facts import alert, health

pytestmark = [pytest.mark.deep("a job of its own, killed or running for minutes"), pytest.mark.timeout(900)]

TAKES_OVER_WITHIN_S = 30
ENDS_WITHIN_S = 10


@pytest.mark.spark
@pytest.mark.kafka
def test_a_job_takes_over_from_one_that_was_killed(kafka: LoopbackKafka, topic: str, make_job: MakeJob) -> None:
    records, address = recorded("e2e", now_ms(), names=("b_kill9", "d_sameid")), f"127.0.0.1:{free_port()}"
    first = make_job("first", {"source": {"max_offsets_per_trigger": 5}})
    second = make_job("second", {"tables": {"path": str(first.tables)}, "job": {"checkpoint": str(first.checkpoint)}})
    second.tables, second.checkpoint = first.tables, first.checkpoint
    first.start()
    until(lambda: holder_of(first.tables / LEASE) is not None, PATIENCE_S, "the first one has the tables")
    second.start(options=["--standby", "--metrics", address])
    second.wait_until(lambda: "standby: the job waits until process" in second.log, "it waits")
    until(lambda: is_standby(address), PATIENCE_S, "its metrics say so")
    assert get(f"http://{address}/healthz")[0] == 200
    status, said, _ = get(f"http://{address}/readyz")
    assert status == 503
    assert get(f"http://{address}/readyz?standby=ready")[:2] == (200, "standby\n")
    assert re.fullmatch(r"standby: the job waits until process \d+ on .* \('.*', since .* UTC\) ends\n", said)
    second.wait_until(lambda: "standby: Spark has started" in second.log, "it is prepared")
    send(kafka, topic, records)
    offsets = end_offsets(kafka, topic)
    first.wait_until(lambda: first.batches().done >= 1, "it had work behind it, and before it")
    assert is_standby(address)
    pid, began = first.kill_python(), time.monotonic()
    assert not first.has_read(offsets), "nothing was left to go on with"
    second.wait_until(lambda: f"the job takes over from process {pid} on" in second.log, "it takes over")
    took_over_s = time.monotonic() - began
    assert took_over_s < TAKES_OVER_WITHIN_S
    until(lambda: not is_standby(address), PATIENCE_S, "its metrics say that it works")
    done = second.batches().done  # the first one's Java has ended, or writes nothing more
    second.wait_until(lambda: second.batches().done > done, "it ends a batch")
    took_s = time.monotonic() - began
    print(f"after the first one's death: took over after {took_over_s:.1f} s, first batch after {took_s:.1f} s")
    second.finish(offsets)
    assert tables.as_facts(second.tables) == folded((records, DEFAULT_SETTINGS))


@pytest.mark.spark
def test_a_waiting_job_ends_at_once_by_a_signal_and_refuses_what_is_wrong_before_it_waits(
    kafka: LoopbackKafka, make_job: MakeJob
) -> None:
    job = make_job()
    with local_leases({"tables.path": str(job.tables)}):
        job.start(options=["--standby"])
        job.wait_until(lambda: f"waits until process {os.getpid()} on" in job.log, "it waits")
        job.wait_until(lambda: "standby: Spark has started" in job.log, "it is prepared")
        status, took_s = job.stop()
        assert (status, took_s < ENDS_WITHIN_S) == (0, True), job.last_words()
        (job.checkpoint / "evenkeel").mkdir(parents=True)
        (job.checkpoint / "evenkeel" / "identity.json").write_text(
            '{"identity":"x","source":"another","shards":4,"state_partitions":2}'
        )
        refused = job.command("run", "--standby")
        assert (refused.returncode, "was made for another" in refused.stderr) == (2, True), refused.stderr
    assert not (job.tables / "facts").exists()


def test_a_notifier_takes_over_from_one_that_was_killed_and_tells_an_open_alert_once(tmp_path: Path) -> None:
    facts, addresses = tmp_path / "tables" / "facts", [f"127.0.0.1:{free_port()}" for _ in range(2)]
    address = addresses[0]
    commit(facts, [replace(fact, ts=now_ms()) for fact in (health(), alert("g"))])
    with Server() as server, ExitStack() as ending:
        notify = [*EVENKEEL, "notify", "--config", str(configured(tmp_path, server.url))]
        environment = child_environment() | {"HOOK_SECRET": "x"}

        def started(*options: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen([*notify, *options], env=environment, cwd=tmp_path)
            ending.callback(process.wait)
            ending.callback(process.kill)
            return process

        def told() -> list[str]:
            return [group for notice in Told(server).notices() for group in notice["groups"]]

        first = started()
        until(lambda: told() == ["g"], PATIENCE_S, "the first one tells the alert")
        second, third = [started("--standby", "--metrics", each) for each in addresses]
        until(lambda: all(map(is_standby, addresses)), PATIENCE_S, "both wait")
        status, said, _ = get(f"http://{address}/readyz")
        assert (status, f"standby: the notifier waits until process {first.pid} on" in said) == (503, True)
        assert get(f"http://{address}/readyz?standby=ready")[:2] == (200, "standby\n")
        third.terminate()
        assert third.wait(ENDS_WITHIN_S) == 0
        first.kill()
        began = time.monotonic()
        until(lambda: not is_standby(address), TAKES_OVER_WITHIN_S, "it takes over")
        print(f"it took over {time.monotonic() - began:.1f} s after the first one's death")
        commit(facts, [replace(fact, ts=now_ms()) for fact in (health(), alert("h", seq=2))])
        until(lambda: "h" in told(), PATIENCE_S, "the second one tells another alert")
        second.terminate()
        assert second.wait(ENDS_WITHIN_S) == 0
        assert told() == ["g", "h"]


def is_standby(address: str) -> bool:
    with suppress(OSError):
        return scrape(f"http://{address}")["evenkeel_standby"] == 1
    return False
