"""Checks of the configuration across keys: values that go together, rules that others hide, what the machine allows."""

import json
import os
import re
import stat
from collections.abc import Container, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from streaming.config.config_errors import KeyPath
from streaming.config.options import producer_arguments
from streaming.config.secrets import text_file_fault
from streaming.config.sections import NAME_OF_PARAM, PARAM_KEYS, Collector, Config, Rule, Source, Web
from streaming.config.storages import ABORTABLE, FILE_MANAGER, storage_fault, uses_abortable
from streaming.config.values import Section, is_address, is_loopback, server_list
from streaming.core.allocation.strategies import strategy_named
from streaming.core.allocation.strategy import AllocationError
from streaming.networks import is_in, networks, parsed


class Broken(NamedTuple):
    """A broken rule: the keys that don't go together. The first one is reported, with its value."""

    keys: tuple[KeyPath, ...]
    value: object
    allowed: str


def _keys(*names: str) -> tuple[KeyPath, ...]:
    """The keys of these names, such as ``job.checkpoint``."""
    return tuple(tuple(name.split(".")) for name in names)


FAILOVER_TIMEOUT_S = 3  # a request is over by then; collector/failover/membership counts on it
TABLES: KeyPath = ("tables", "path")
CHECKPOINT: KeyPath = ("job", "checkpoint")
NOTIFIER: KeyPath = ("notify", "state")
EVERY_FOLDER = frozenset({TABLES, CHECKPOINT, NOTIFIER})
_PATTERN_PARTS = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


def broken_rules(config: Config, writes: Container[KeyPath] = EVERY_FOLDER) -> Iterator[Broken]:
    """Every rule that a configuration of valid values breaks. ``writes``: keys of the folders that must be writable."""
    yield from _source(config.source)
    yield from _folders(config, writes)
    yield from _storages(config, writes)
    yield from _timing(config)
    yield from _collector(config.collector, config.source.topic)
    yield from _web(config.web)
    yield from _metrics(config)
    for number, rule in enumerate(config.groups):
        yield from _group_rule(number, rule)
    yield from _unreachable(config.groups)


def _source(source: Source) -> Iterator[Broken]:
    if source.kind == "files":
        readable = _is_folder(source.folder) and os.access(source.folder, os.R_OK | os.X_OK)
        if not readable and not is_address(source.folder):
            allowed = "a folder that exists and can be read, since source.kind is files"
            yield Broken(_keys("source.folder", "source.kind"), source.folder, allowed)
        return
    if ";" in source.bootstrap_servers or not server_list(source.bootstrap_servers):
        allowed = "host:port of one or more Kafka brokers, separated by commas, since source.kind is kafka"
        yield Broken(_keys("source.bootstrap_servers", "source.kind"), source.bootstrap_servers, allowed)
    if source.starting_offsets.startswith("{") and set(json.loads(source.starting_offsets)) != {source.topic}:
        allowed = f"offsets of source.topic alone, which is {source.topic}"
        yield Broken(_keys("source.starting_offsets", "source.topic"), source.starting_offsets, allowed)


def _folders(config: Config, writes: Container[KeyPath]) -> Iterator[Broken]:
    ours: dict[KeyPath, str] = {
        TABLES: config.tables.path,
        CHECKPOINT: config.job.checkpoint,
        NOTIFIER: config.notify.state,
    }
    for key, path in ours.items():
        if key in writes and not is_address(path) and (why_not := _why_not_writable(Path(path))) is not None:
            yield Broken((key,), path, f"a folder that exists or can be created: {why_not}")
    if config.source.kind == "files":
        ours[("source", "folder")] = config.source.folder
    for (one, path), (other, other_path) in combinations(ours.items(), 2):
        if _are_nested(path, other_path):
            name = ".".join(map(str, one))
            yield Broken((other, one), other_path, f"a folder apart from {name}, which is {path}")


def _storages(config: Config, writes: Container[KeyPath]) -> Iterator[Broken]:
    """Check addresses of storages, and the folder of jars. Commands that write checkpoints start Spark, which needs the
    jars, and a file system for each address.
    """
    if CHECKPOINT not in writes:
        return
    if (jars := config.spark.jars_folder) and not _is_folder(jars):
        yield Broken((("spark", "jars_folder"),), jars, "a folder that evenkeel jars fetch --to has filled")
    if uses_abortable(config.spark.spark_settings()):
        yield Broken(
            (("spark", "settings"),),
            ABORTABLE,
            f"settings without {FILE_MANAGER}: this one takes a write that failed for a success, so a checkpoint may "
            "lack files",
        )
    given: dict[KeyPath, str] = {TABLES: config.tables.path, CHECKPOINT: config.job.checkpoint}
    if config.source.kind == "files":
        given[("source", "folder")] = config.source.folder
    for key, path in given.items():
        if is_address(path) and (fault := storage_fault(path, config.spark.spark_settings())):
            yield Broken((key, ("spark", "settings")), path, fault)


def _is_folder(path: str) -> bool:
    """False also where a folder on the way may not be read."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises PermissionError then


def _why_not_writable(path: Path) -> str | None:
    """The reason why a folder can be neither written to nor created, or None."""
    for place in (path, *path.parents):
        try:
            mode = place.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"{place}: {error.strerror}"
        if not stat.S_ISDIR(mode):
            return f"{place} is not a folder"
        return None if os.access(place, os.W_OK | os.X_OK) else f"{place} cannot be written to"
    return None


def _are_nested(one: str, other: str) -> bool:
    places = [PurePosixPath(place) if is_address(place) else Path(place).resolve() for place in (one, other)]
    return places[0].is_relative_to(places[1]) or places[1].is_relative_to(places[0])


def _timing(config: Config) -> Iterator[Broken]:
    timing = config.timing
    graces = ("grace_membership_seconds", "grace_route_seconds", "grace_broker_seconds")
    longest = max(getattr(timing, grace) for grace in graces) + timing.grace_orderly_extra_seconds
    if timing.settle_limit * longest > timing.gone_after_seconds:
        names = ("settle_limit", *graces, "grace_orderly_extra_seconds", "gone_after_seconds")
        allowed = (
            f"times the longest grace of an orderly group, {longest:g} s, at most "
            f"timing.gone_after_seconds, {timing.gone_after_seconds:g} s"
        )
        yield Broken(_keys(*(f"timing.{name}" for name in names)), timing.settle_limit, allowed)
    if timing.forget_after_seconds < timing.gone_after_seconds:
        keys = _keys("timing.forget_after_seconds", "timing.gone_after_seconds")
        allowed = f"at least timing.gone_after_seconds, {timing.gone_after_seconds:g}: open alerts are resolved first"
        yield Broken(keys, timing.forget_after_seconds, allowed)


def _collector(collector: Collector, topic: str) -> Iterator[Broken]:
    if collector.timeout_seconds > collector.interval_seconds:
        keys = _keys("collector.timeout_seconds", "collector.interval_seconds")
        allowed = f"at most collector.interval_seconds, {collector.interval_seconds:g}: a round waits for it"
        yield Broken(keys, collector.timeout_seconds, allowed)
    if collector.failover_topic:
        yield from _failover(collector, topic)
    if collector.idle_offsets_seconds < collector.offsets_seconds:
        keys = _keys("collector.idle_offsets_seconds", "collector.offsets_seconds")
        allowed = f"at least collector.offsets_seconds, {collector.offsets_seconds:g}"
        yield Broken(keys, collector.idle_offsets_seconds, allowed)
    try:
        producer_arguments(collector.kafka)
    except ValueError as error:
        yield Broken((("collector", "kafka"),), collector.kafka, str(error))
    yield from _keys_of_access(collector)
    yield from _servers_outside(collector)
    yield from _proxies_of_no_cluster(collector)
    yield from _text_files("collector", collector, "secret_key_file", "tls_ca_file", "tls_cert_file", "tls_key_file")
    if collector.output == "file" and (not collector.file or is_address(collector.file)):
        allowed = "a file of this machine, since collector.output is file"
        yield Broken(_keys("collector.file", "collector.output"), collector.file, allowed)


def _failover(collector: Collector, topic: str) -> Iterator[Broken]:
    if collector.failover_topic == topic:
        allowed = "another topic than source.topic: it is compacted, so events would be lost"
        yield Broken(_keys("collector.failover_topic", "source.topic"), topic, allowed)
    if collector.output == "file":
        allowed = "kafka, since collector.failover_topic is a topic of Kafka"
        yield Broken(_keys("collector.output", "collector.failover_topic"), "file", allowed)
    if collector.timeout_seconds > FAILOVER_TIMEOUT_S:
        keys = _keys("collector.timeout_seconds", "collector.failover_topic")
        allowed = (
            f"at most {FAILOVER_TIMEOUT_S} with collector.failover_topic: it is over when another collector begins"
        )
        yield Broken(keys, collector.timeout_seconds, allowed)


def _servers_outside(collector: Collector) -> Iterator[Broken]:
    """Check addresses of name servers and proxies. Host names are checked when they are connected to."""
    allowed = networks(collector.networks)
    of_key = {"clusters": ("name server", collector.clusters), "proxies": ("proxy", collector.proxies)}
    for key, (what, servers_by_cluster) in of_key.items() if allowed else ():
        for server in (one for servers in servers_by_cluster.values() for one in server_list(servers)):
            host = server.rpartition(":")[0].strip("[]")
            if parsed(host) is not None and not is_in(host, allowed):
                keys = _keys("collector.networks", f"collector.{key}")
                yield Broken(keys, collector.networks, f"networks that have every {what} too: {host} is in none")


def _proxies_of_no_cluster(collector: Collector) -> Iterator[Broken]:
    for cluster in collector.proxies.keys() - collector.clusters.keys():
        keys = _keys("collector.proxies", "collector.clusters")
        yield Broken(keys, cluster, "proxies of clusters that collector.clusters names")


def _keys_of_access(collector: Collector) -> Iterator[Broken]:
    secret, file = ("collector", "secret_key"), ("collector", "secret_key_file")
    has_secret = bool(collector.secret_key.get_secret_value())
    if has_secret and collector.secret_key_file:
        yield Broken((file, secret), collector.secret_key_file, "empty where collector.secret_key is given")
    if collector.access_key and not has_secret and not collector.secret_key_file:
        key = ("collector", "access_key")
        yield Broken((key, secret, file), collector.access_key, "only beside secret_key_file or secret_key")
    if not collector.access_key and (has_secret or collector.secret_key_file):
        given = secret if has_secret else file
        yield Broken((given, ("collector", "access_key")), "", "only beside access_key")


def _web(web: Web) -> Iterator[Broken]:
    """Check the web pages: if other machines can reach them, users or proxies must be configured."""
    users, proxies, listen = ("web", "users"), ("web", "proxies"), ("web", "listen")
    if not is_loopback(web.address()[0]) and not (web.users or web.proxies):
        allowed = "an address that only this machine reaches, as in 127.0.0.1:8400, where neither web.users nor "
        yield Broken((listen, users, proxies), web.listen, f"{allowed}web.proxies says who may read")
    yield from _text_files("web", web, "users", "tls_cert_file", "tls_key_file")
    if bool(web.tls_cert_file) != bool(web.tls_key_file):
        given, other = ("tls_cert_file", "tls_key_file")[:: 1 if web.tls_cert_file else -1]
        yield Broken((("web", other), ("web", given)), "", f"a file, since web.{given} is given")


def _metrics(config: Config) -> Iterator[Broken]:
    """Check ports: two servers of one machine cannot listen on one port, also in different processes."""
    address, pages = config.metrics.address(), config.web.address()
    if address is not None and address[1] and address[1] == pages[1]:
        allowed = f"another port than that of web.listen, {pages[1]}"
        yield Broken(_keys("metrics.listen", "web.listen"), config.metrics.listen, allowed)


def _text_files(name: str, section: Section, *files: str) -> Iterator[Broken]:
    for file in files:
        path = getattr(section, file)
        if path and (fault := text_file_fault(path)) is not None:
            yield Broken(((name, file),), path, fault)


def _group_rule(number: int, rule: Rule) -> Iterator[Broken]:
    here: KeyPath = ("groups", number)
    if "/" in rule.cluster:
        yield Broken(((*here, "cluster"),), rule.cluster, "a pattern without /, since no cluster's name has one")
    if rule.excluded and rule.always_on:
        yield Broken(((*here, "always_on"), (*here, "excluded")), True, "false where excluded is true")
    if rule.always_on and rule.may_be_empty_seconds is not None:
        both = ((*here, "always_on"), (*here, "may_be_empty_seconds"))
        yield Broken(both, True, "false where may_be_empty_seconds is given")
    given = [key for key in PARAM_KEYS if getattr(rule, key) is not None]
    if rule.strategy is None:
        for key in given:
            yield Broken(((*here, key), (*here, "strategy")), getattr(rule, key), "only beside strategy")
        return
    try:
        strategy_named(rule.strategy, rule.params())
    except (ValueError, AllocationError) as error:
        keys = tuple((*here, key) for key in ("strategy", *PARAM_KEYS))
        yield Broken(keys, rule.strategy, _with_our_names(str(error).removeprefix(f"{rule.strategy}: ")))


def _with_our_names(message: str) -> str:
    """The message with our keys: strategies use RocketMQ's names for their parameters."""
    for java, key in NAME_OF_PARAM.items():
        message = re.sub(rf"\b{java}\b", key, message)
    return message


def _unreachable(rules: tuple[Rule, ...]) -> Iterator[Broken]:
    for number, rule in enumerate(rules):
        for before, earlier in enumerate(rules[:number]):
            if covers(earlier.cluster, rule.cluster) and covers(earlier.group, rule.group):
                here, there = ("groups", number), ("groups", before)
                allowed = f"a pattern that groups[{before}] does not match already; the first match counts"
                yield Broken(((*here, "group"), (*here, "cluster"), there), rule.group, allowed)


@lru_cache(maxsize=4096)
def covers(wide: str, narrow: str) -> bool:
    """True if ``wide`` surely matches every name that ``narrow`` matches. With classes as [a-c] it may be unsure."""
    return _covers(tuple(_PATTERN_PARTS.findall(wide)), tuple(_PATTERN_PARTS.findall(narrow)))


def _covers(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    """True if covered. ``reached``: how many parts of ``wide`` can have matched the parts of ``narrow`` so far."""
    reached = _past_stars({0}, wide)
    for part in narrow:
        reached = _past_stars({at for one in reached for at in _after(one, wide, part)}, wide)
    return len(wide) in reached


def _after(at: int, wide: tuple[str, ...], part: str) -> tuple[int, ...]:
    if at == len(wide):
        return ()
    if wide[at] == "*":
        return (at,)
    is_letter = len(part) == 1 and part not in "*?"
    takes = wide[at] == part or (wide[at] == "?" and part != "*") or (is_letter and fnmatchcase(part, wide[at]))
    return (at + 1,) if takes else ()


def _past_stars(reached: set[int], wide: tuple[str, ...]) -> set[int]:
    """The numbers with following stars added: a star may also match nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(wide) and wide[at] == "*":
            at += 1
            found.add(at)
    return found
