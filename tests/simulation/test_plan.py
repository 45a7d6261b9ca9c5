"""What a change will do: the shares to the queue, the costs against further simulated runs."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.facts import Fact, MemberFact
from schemas.identity import MessageQueue
from streaming.cli import main
from streaming.errors import SourceError
from streaming.inspect.snapshot import InspectedGroup
from streaming.simulation.planning.change import Change, checked, members_after, new_ids
from streaming.simulation.planning.current_group import CurrentGroup, Member, Queue, read_current_group, read_tables
from streaming.simulation.planning.forecast import Trial, forecasts, mean
from streaming.simulation.planning.popping import pop_plan
from streaming.simulation.planning.queue_moves import NotApplicable, balance
from testing.written import commit
from tests.explain.facts import T0, Teller

CLIENTS = ("r1-x@1", "r1-y@1", "r2-z@1")


def present(clients: tuple[str, ...] = CLIENTS, queues: int = 4, rate: float = 10.0, **fields: Any) -> CurrentGroup:
    """AVG on r1-a and r2-b."""
    names = [MessageQueue("T", broker, n) for broker in ("r1-a", "r2-b") for n in range(queues)]
    size, larger = divmod(len(names), len(clients))
    owners = [c for place, c in enumerate(sorted(clients)) for _ in range(size + (place < larger))]
    listed = tuple(Queue(*name, owners=(owner,), in_per_s=rate) for name, owner in zip(names, owners, strict=True))
    members = tuple(Member(c, "AllocateMessageQueueAveragely") for c in clients)
    return CurrentGroup(group="g", members=members, queues=listed, **fields)


def trial(name: str, change: Change, of: CurrentGroup | None = None) -> Trial:
    return Trial(of or present(), change, name)


JOIN = Change(join=("r2-zz@1",))
EXPECTED = [
    ("AVG", JOIN, (5, 2, 2, 2, 0, 0)),
    ("AVG", Change(leave=("r1-y@1",)), (3, 3, 4, 4, 0, 0)),
    ("AVG", Change(queues={"T": 6}), (1, 0, 4, 4, 0, 0)),
    ("AVG_BY_CIRCLE", JOIN, (5, 2, 2, 2, 0, 0)),
    ("CONFIG", JOIN, (0, 0, 3, 0, 1, 0)),
    ("CONFIG", Change(leave=("r1-y@1",)), (3, 3, 3, 2, 0, 3)),
    ("MACHINE_ROOM_NEARBY", Change(lose_room="r2"), (0, 0, 2, 2, 0, 0)),
    ("AVG", Change(join=tuple(f"n{n}" for n in range(7))), (8, 5, 1, 0, 2, 0)),
]


@pytest.mark.parametrize(("name", "change", "expected"), EXPECTED, ids=str)
def test_shares_after_a_change(name: str, change: Change, expected: tuple[int, ...]) -> None:
    assert trial(name, change).balance == expected


def test_the_fewest_moves_are_never_more_than_the_moves() -> None:
    for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"):
        for change in (JOIN, Change(leave=("r1-x@1",)), Change(queues={"T": 9})):
            found = trial(name, change).balance
            assert 0 <= found.fewest <= found.moved


def test_a_queue_that_goes_back_to_its_owner_has_not_moved() -> None:
    queue = MessageQueue("T", "b", 0)
    assert balance({queue: "x"}, {queue: "x"}, [queue], ["x"]).moved == 0
    assert balance({queue: "x"}, {queue: "y"}, [queue], ["x", "y"]) == (1, 0, 1, 0, 1, 0)


def test_a_strategy_that_cannot_be_says_why() -> None:
    with pytest.raises(NotApplicable, match="room@broker"):
        trial("MACHINE_ROOM", JOIN)
    (why,) = [one.why_not for one in forecasts(present(), JOIN) if one.strategy == "MACHINE_ROOM"]
    assert why == "brokers are not named room@broker"


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
@pytest.mark.parametrize("change", [JOIN, Change(queues={"T": 6}), Change(rolling=1)], ids=["join", "expand", "roll"])
def test_the_forecast_is_what_further_runs_come_to(name: str, change: Change) -> None:
    """The mean of five runs against that of five others; a moment more or less where it is about moments."""
    of = trial(name, change)
    told = mean(of.run(f"told/{n}") for n in range(5))
    came = mean(of.run(f"came/{n}") for n in range(5))
    assert told.unowned_longest_s == pytest.approx(came.unowned_longest_s, rel=0.5, abs=1.0)
    assert told.unowned_queue_s == pytest.approx(came.unowned_queue_s, rel=0.5, abs=2.0)
    assert told.repeated == pytest.approx(came.repeated, rel=0.6, abs=40)


def test_an_orderly_group_waits_for_the_locks_of_a_lost_room() -> None:
    change = Change(lose_room="r2")
    orderly = present(clients=("r1-x@1", "r2-y@1", "r2-z@1"), orderly=True)
    assert trial("AVG", change, orderly).run("1").unowned_longest_s > 30


def test_what_is_not_there_is_refused_by_name() -> None:
    for change, named in (
        (Change(), "name a change"),
        (Change(leave=("w",)), "r1-x@1, r1-y@1, r2-z@1"),
        (Change(queues={"U": 3}), "the group has T"),
        (Change(leave=CLIENTS), "nobody would be left"),
    ):
        with pytest.raises(SourceError, match=named):
            checked(change, present())


def test_new_clients_stand_among_the_others() -> None:
    ids = new_ids(2, present())
    assert len(set(members_after(Change(join=ids), present()))) == 5
    assert sorted((*CLIENTS, *ids))[1] == ids[0]


def test_a_look_is_what_a_plan_reads() -> None:
    """Every key that a plan goes by is one of a look's."""
    assert set(CurrentGroup.__struct_fields__) <= set(InspectedGroup.__struct_fields__)


def test_a_file_with_several_groups_needs_a_name() -> None:
    one, other = (msgspec.json.encode(msgspec.structs.replace(present(), group=name)) for name in "ab")
    text = one + b"\n" + other + b"\n"
    assert read_current_group(text, "b", "f").group == "b"
    with pytest.raises(SourceError, match="--group"):
        read_current_group(text, None, "f")
    with pytest.raises(SourceError, match="evenkeel inspect --json"):
        read_current_group(b"{", None, "f")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "look.json"
    path.write_bytes(msgspec.json.encode(present(queues=2)))
    return path


def test_the_command_prints_a_table_or_one_object(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--from", str(file), "--leave", "r1-y@1"]) == 0
    table = capsys.readouterr().out
    assert "AVG_BY_CIRCLE" in table
    assert main(["plan", "--from", str(file), "--leave", "r1-y@1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["change"]["leave"] == ["r1-y@1"]
    assert [one["moved"] for one in shown["forecasts"] if one["strategy"] == "AVG"] == [1]
    assert main(["plan", "--from", str(file), "--queues", "T=x"]) == 2


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_drawn(file: Path, ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"plan.{ending}"
    assert main(["plan", "--from", str(file), "--join", "1", "--picture", str(picture)]) == 0
    assert picture.stat().st_size > 5_000


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_picture_of_too_many_cells_is_refused(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take gigabytes."""
    monkeypatch.setattr("streaming.simulation.planning.chart.CELLS_AT_MOST", 1)
    assert main(["plan", "--from", str(file), "--join", "1", "--picture", str(tmp_path / "x.png")]) == 2
    assert not (tmp_path / "x.png").exists()


def test_another_kind_of_picture_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--from", str(file), "--join", "1", "--picture", "plan.gif"]) == 2
    assert ".png or an .svg" in capsys.readouterr().err


def told(**run_as: Any) -> list[Fact]:
    """Two clients with three queues each, and a queue that is gone from the route; after a minute one is left."""
    g = Teller("orders")
    for queue_id in range(6):
        g.queue(queue_id, queue_id, "MATCH", owners=("x@1" if queue_id < 3 else "y@1",))
    g.queue(7, 6, "PHANTOM", owners=("x@1",))
    for client_id in ("x@1", "y@1"):
        g.tell(MemberFact(client_id=client_id, present=True, since_ts=T0, **run_as), 10)
    g.member(60, "y@1", present=False)
    return g.facts


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tables")
    commit(folder / "facts", told(strategy="a.b.AllocateMessageQueueAveragelyByCircle", orderly=True))
    return str(folder)


def test_a_group_as_the_tables_knew_it_at_a_time(tables: str) -> None:
    now, then = read_tables(tables, "orders", None, None), read_tables(tables, "orders", None, T0 + 30_000)
    assert (now.client_ids, then.client_ids) == (("x@1",), ("x@1", "y@1"))
    assert [queue.queue_id for queue in then.shared()] == [0, 1, 2, 3, 4, 5]
    assert (then.orderly, then.knows_rates) == (True, False)
    assert then.members[0].strategy == "a.b.AllocateMessageQueueAveragelyByCircle"


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_without_rates_nobody_says_how_many_messages_come_again(
    tables: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", "--tables", tables, "--group", "orders", "--at", "2025-11-21T16:58:33Z", "--leave", "y@1"]
    assert main(asked) == 0
    assert "--rate" in capsys.readouterr().out
    assert main([*asked, "--json"]) == 0
    assert {one.get("repeated") for one in json.loads(capsys.readouterr().out)["forecasts"]} == {None}
    assert main([*asked, "--rate", "60", "--json"]) == 0
    assert None not in {one["repeated"] for one in json.loads(capsys.readouterr().out)["forecasts"][:3]}


def test_tables_need_a_group_and_times_need_tables(tables: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--tables", tables, "--join", "1"]) == 2
    assert "--group" in capsys.readouterr().err
    assert main(["plan", "--from", str(file), "--at", "30m", "--join", "1"]) == 2
    assert "--tables" in capsys.readouterr().err


# --- groups that pop


def test_all_clients_may_pop_all_queues_until_the_number_is_smaller_than_the_others() -> None:
    now, then = pop_plan(present(), Change(join=("n",), pop_share=1), 0)
    assert now is not None
    assert {len(share) for share in now.may_pop.values()} == {2}  # one for each broker
    assert set(now.clients.values()) == {3}
    assert set(then.clients.values()) == {2}
    assert list(map(len, then.may_pop.values())) == [4, 4, 4, 4]


def test_more_clients_than_queues_have_one_queue_each() -> None:
    _, then = pop_plan(present(queues=1), Change(join=("n1", "n2")), 2)
    assert sorted(then.clients.values()) == [2, 3]
    assert {len(share) for share in then.may_pop.values()} == {1}


def test_a_plan_for_a_group_that_pops_needs_the_number_and_a_strategy_of_brokers() -> None:
    with pytest.raises(SourceError, match="--pop"):
        pop_plan(present(), Change(join=("n",)), None)
    assert pop_plan(present(), Change(pop_share=1), None)[0] is None
    with pytest.raises(SourceError, match="CONSISTENT_HASH: a broker assigns nothing"):
        pop_plan(present(), Change(strategy="CONSISTENT_HASH"), 1)
    assert checked(Change(pop_share=0), present()) == Change(pop_share=0)


def test_the_command_says_who_may_pop_what(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "g.json"
    file.write_bytes(msgspec.json.encode(present(queues=2)))
    assert (
        main(["plan", "--from", str(file), "--pop", "0", "--pop-share", "1", "--leave", "r1-y@1", "--join", "3"]) == 0
    )
    text = capsys.readouterr().out
    assert "now, with popShareQueueNum 0:\n  r1-x@1" in text
    assert "T: all queues of r1-a, r2-b" in text
    assert "queues, by how many clients may pop each: 4 by 3" in text
    assert "then, with popShareQueueNum 1:" in text
    assert "3 by 1, 1 by 2\n  3 by one client only: if it crashes, nobody takes their messages" in text
    assert main(["plan", "--from", str(file), "--pop", "1", "--join", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["pop"]
    assert shown["now"]["clients"] == [["T", broker, n, 2] for broker in ("r1-a", "r2-b") for n in range(2)]
    assert shown["then"]["pop_share_queue_num"] == 1


def test_a_picture_shows_no_group_that_pops(tmp_path: Path) -> None:
    file = tmp_path / "g.json"
    file.write_bytes(msgspec.json.encode(present()))
    assert main(["plan", "--from", str(file), "--pop", "0", "--join", "1", "--picture", str(tmp_path / "p.png")]) == 2
