"""The commands, in the groups of ``evenkeel --help``, and what has become of former ones."""

from difflib import get_close_matches
from typing import NamedTuple


class Command(NamedTuple):
    """A command: what it does in one line, an example, and whether it takes ``--config``."""

    text: str
    example: str
    takes_config: bool = True


DAILY = {
    "inspect": Command(
        "look at a RocketMQ cluster now, and say what is wrong: nothing to set up",
        "evenkeel inspect --namesrv 10.0.0.1:9876 --group 'orders-*'",
    ),
    "run": Command("watch for months, until a signal", "evenkeel run --config my.toml"),
    "collect": Command(
        "ask RocketMQ clusters, and send what they say to Kafka or a file",
        "evenkeel collect --config my.toml --dry-run",
    ),
    "notify": Command(
        "send alerts to people, in a process apart from the job", "evenkeel notify --config my.toml --test"
    ),
    "web": Command(
        "show groups, alerts and their causes in a browser", "evenkeel web --config my.toml --listen 127.0.0.1:8400"
    ),
    "explain": Command(
        "say what was known of a group at a time, and why it alerted or not",
        "evenkeel explain orders --cluster prod --at 30m --config my.toml",
    ),
    "silence": Command(
        "get no pages about some groups for a while",
        "evenkeel silence --config my.toml --group 'orders-*' --for 2h --by 'Li Wei' --why 'new hosts'",
    ),
    "plan": Command(
        "say what a change will do to a group, before it is made",
        "evenkeel inspect --namesrv 10.0.0.1:9876 --json | evenkeel plan --from - --group orders --join 2",
    ),
    "sql": Command(
        "query the tables with SQL, in a shell or one query",
        "evenkeel sql --config my.toml --csv -c 'SELECT * FROM queue_assignments'",
    ),
}
SET_UP = {
    "config": Command(
        "print a configuration to begin with, check one, or write one with rules and dashboards into a folder",
        "evenkeel config check my.toml --online",
        takes_config=False,
    ),
    "doctor": Command(
        "look at everything that evenkeel needs, and say what is wrong and what mends it",
        "evenkeel doctor --config my.toml",
    ),
    "jars": Command(
        "fetch the jars that Spark and the demo need, now or for a machine without a network",
        "evenkeel jars fetch --to evenkeel-jars",
        takes_config=False,
    ),
    "completion": Command(
        "print a script that completes commands and options in your shell",
        "evenkeel completion bash > ~/.local/share/bash-completion/completions/evenkeel",
        takes_config=False,
    ),
}
RESCUE = {
    "maintain": Command(
        "compact the tables' closed days and drop what is too old", "evenkeel maintain --config my.toml"
    ),
    "rebuild": Command("make every table that people read again from the facts", "evenkeel rebuild --config my.toml"),
    "reseed": Command(
        "begin a new checkpoint without losing open alerts",
        "evenkeel reseed --config my.toml --checkpoint data/checkpoint-2",
    ),
    "forget": Command(
        "end the alerts of a consumer group that was retired",
        "evenkeel forget orders --cluster prod --config my.toml",
    ),
}
LABORATORY = {
    "demo": Command(
        "watch recordings of a real RocketMQ and a simulated fleet, live on a real Kafka",
        "evenkeel demo --seconds 90",
        takes_config=False,
    ),
    "replay": Command(
        "play a recording or a file of events to its end", "evenkeel replay recorded.jsonl.gz --engine core --json"
    ),
    "simulate": Command(
        "write the events of a simulated fleet of any size",
        "evenkeel simulate --groups 50 --faults all --to - | gzip > events.jsonl.gz",
    ),
}
GROUPS = {"daily": DAILY, "set-up": SET_UP, "rescue": RESCUE, "laboratory": LABORATORY}
COMMANDS = DAILY | SET_UP | RESCUE | LABORATORY

FORMER = {  # commands of 0.2.0, and what is used instead; this table goes with 0.4.0
    "check-config": "use 'evenkeel config check FILE'",
    "conformance": "a checkout has it: 'python -m testing.conformance FILE'",
    "evaluate": "the proof of the detection is for developers: 'make proof' in a checkout (docs/proof.md)",
    "reload": "use 'kill -HUP PID' or 'systemctl reload SERVICE': the log of the process has what was taken over",
    "upgrade": "use 'evenkeel doctor': its area 'upgrade' has what 'upgrade --check' printed",
    "version": "use 'evenkeel --version'",
}


def overview() -> str:
    """The commands by group, a line each."""
    width = max(map(len, COMMANDS))
    groups = ("\n".join([name, *_lines(commands, width)]) for name, commands in GROUPS.items())
    return "\n\n".join(groups)


def _lines(commands: dict[str, Command], width: int) -> list[str]:
    return [f"  {name:{width}}  {command.text}" for name, command in commands.items()]


def no_such_command(name: str) -> str:
    """What to use instead of a name that is no command."""
    if name in FORMER:
        return f"'{name}' is no command any more: {FORMER[name]}"
    nearest = get_close_matches(name, COMMANDS, n=1)
    meant = f"did you mean '{nearest[0]}'?" if nearest else "'evenkeel --help' has all commands"
    return f"'{name}' is no command: {meant}"
