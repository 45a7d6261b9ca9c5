"""A summary of a configuration in a few lines for people. Secrets stay hidden."""

from collections.abc import Iterator

from pydantic import BaseModel

from streaming.config.config_errors import KeyPath, is_secret, key_text, shown_value, without_userinfo
from streaming.config.keys import all_keys
from streaming.config.load import Loaded
from streaming.config.sections import Config, Rule, Source, Web


def differences(loaded: Loaded) -> Iterator[str]:
    """A line for every key without its default value, with the variable that set it, if any."""
    defaults = Config()
    for key in all_keys():
        value, default = _at(loaded.config, key), _at(defaults, key)
        if isinstance(value, dict):
            yield from (_set(loaded, (*key, name), inner) for name, inner in value.items())
        elif value != default and key != ("groups",):
            yield f"{_set(loaded, key, value)} (default {shown_value(key, default)})"
    for number, rule in enumerate(loaded.config.groups):
        yield f"groups[{number}]: {_rule(rule)}{_by(loaded, ('groups', number))}"


def summary(config: Config) -> Iterator[str]:
    """A line for each section."""
    changed = sum(_at(config, key) != _at(Config(), key) for key in all_keys() if key[0] == "timing")
    job = config.job
    yield f"source   {_source(config.source)}"
    yield f"tables   {without_userinfo(config.tables.path)}; kept for days: {_retention(config)}"
    yield (
        f"job      checkpoint {without_userinfo(job.checkpoint)}, {job.shards} shards; every "
        f"{job.trigger_seconds:g} s, tables every {job.projection_seconds:g} s, health every {job.health_seconds:g} s; "
        f"maintenance {'on' if job.maintenance else 'off'}"
    )
    spark = config.spark
    yield f"spark    {spark.master or 'master as Spark is started'}, {_count(len(spark.settings), 'setting')}"
    yield f"timing   {_count(changed, 'timer')} changed"
    yield f"collect  {_collector(config)}"
    yield f"notify   rules {config.notify.alerts or 'none: to the log alone'}; state in {config.notify.state}"
    yield f"web      {_web(config.web)}"
    yield f"metrics  {config.metrics.listen or 'not served'}"
    yield f"groups   {_count(len(config.groups), 'rule')}"
    yield f"log      {config.log.level}, {config.log.format}"


def every_key(section: BaseModel, key: KeyPath = ()) -> Iterator[str]:
    """A line for each key of a section and its inner sections, without secrets."""
    for name in type(section).model_fields:
        yield from _every_key_in(getattr(section, name), (*key, name))


def _every_key_in(value: object, key: KeyPath) -> Iterator[str]:
    if isinstance(value, BaseModel) and not is_secret(key):
        yield from every_key(value, key)
    elif isinstance(value, list | tuple) and any(isinstance(one, BaseModel) for one in value):
        for number, one in enumerate(value):
            yield from _every_key_in(one, (*key, number))
    else:
        yield f"{key_text(key)} = {shown_value(key, value)}"


def _source(source: Source) -> str:
    if source.kind == "files":
        return f"files in {without_userinfo(source.folder)}"
    return (
        f"Kafka topic {source.topic} at {source.bootstrap_servers}, from {source.starting_offsets}, at most "
        f"{source.max_offsets_per_trigger} records a trigger, {_count(len(source.kafka), 'client option')}"
    )


def _retention(config: Config) -> str:
    days = config.tables.retention_days.model_dump()
    return ", ".join(f"{table} {kept or 'for ever'}" for table, kept in days.items())


def _collector(config: Config) -> str:
    collector = config.collector
    asks = f"clients every {collector.running_info_seconds:g} s" if collector.running_info else "no clients"
    target = f"Kafka topic {config.source.topic}" if collector.output == "kafka" else without_userinfo(collector.file)
    return (
        f"{', '.join(collector.clusters) or 'no cluster'}; a round every {collector.interval_seconds:g} s, "
        f"asking {asks}; into {target}"
    )


def _web(web: Web) -> str:
    known = [name for name, given in (("a file of users", web.users), ("proxies", web.proxies)) if given]
    where = "also in run" if web.in_run else "not in run"
    return f"{web.listen}, {where}; who reads is known by {' and '.join(known) or 'nothing: only this machine reads'}"


def _set(loaded: Loaded, key: KeyPath, value: object) -> str:
    return f"{key_text(key)} = {shown_value(key, value)}{_by(loaded, key)}"


def _rule(rule: Rule) -> str:
    said = rule.model_dump(exclude_defaults=True, exclude={"cluster", "group"})
    words = [f"{name} = {shown_value((name,), value)}" for name, value in said.items()]
    return f"cluster {rule.cluster}, group {rule.group}: {', '.join(words) or 'nothing said'}"


def _by(loaded: Loaded, key: KeyPath) -> str:
    name = loaded.overrides.name_of(key)
    return f" from {name}" if name else ""


def _at(config: Config, key: KeyPath) -> object:
    value: object = config
    for part in key:
        value = getattr(value, str(part))
    return value


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
