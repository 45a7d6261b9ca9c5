"""Every timer of the core with its default, in milliseconds."""

from msgspec import Struct


class FixedTiming(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Timers in milliseconds that no configuration sets: RocketMQ or the size of the state decides them."""

    # How long something must last to be judged
    hold_no_members_ms: int = 120_000  # a group may be restarted as a whole
    unclaimed_ms: int = 180_000  # each member is asked four times at least
    told_at_latest_ms: int = 600_000  # a queue in which messages wait and of which nothing is consumed
    unread_is_harm_ms: int = 180_000  # the same, of a queue that is proven to have no owner: a deploy is no excuse then
    unresponsive_client_ms: int = 65_000  # a client that did not answer is asked again after 40 s
    persist_offsets_ms: int = 5_000  # MQClientInstance, persistConsumerOffsetInterval
    unsubscribed_after_ms: int = 120_000  # heartbeats come every 30 s
    flapping_client_ms: int = 3_600_000  # a client that leaves again and again, but too rarely for storm_window
    stable_client_ms: int = 1_800_000  # a client that did not leave for so long no longer flaps
    alert_returns_within_ms: int = 3_600_000  # an alert that fires again within this time is the same incident
    deploy_step_ms: int = 35_000  # pods that are stopped together have 30 s to end (Kubernetes); the next round sees it
    longest_rebalance_ms: int = 600_000
    new_route_ms: int = 600_000  # how long a client may not know a queue that a change of the route brought
    route_returns_within_ms: int = 180_000  # a name server is behind for 120 s at most; later it is a change again
    unknown_after_refused_ms: int = 35_000  # as long as a cluster may be without a round
    first_round_interval_ms: int = 5_000  # until two rounds have shown it
    longest_round_interval_ms: int = 60_000

    # What facts say
    repeat_status_ms: int = 3_600_000  # distinguishes a group at rest from one without rounds
    count_group_waiting_ms: int = 60_000  # how much waits for a group at rest is counted so often
    tell_group_waiting_ms: int = 300_000  # how much waits for a group is said at most so often, if that has changed
    changes_before_alert_ms: int = 600_000  # an alert lists the changes of this time before it
    tell_waiting_ms: int = 60_000  # an open alert says how much waits at most so often, if that has changed
    repeat_waiting_ms: int = 600_000  # and at least so often while its queues' offsets are read

    # How long something is kept
    keep_left_client_ms: int = 900_000
    keep_unused_topic_ms: int = 3_600_000  # brokers too: a group may use a new topic each day
    keep_route_copy_ms: int = 600_000
    keep_step_ms: int = 3_600_000  # how long a queue's offset took to move on: the next step may take as long
    clocks_differ_ms: int = 3_600_000  # between groups of one cluster, at most: so no state is dropped too early
    contradicts_ms: int = 60_000  # rounds of two producers, by their times, or for so long by their lists


class Timing(FixedTiming, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every timer in milliseconds, and two counts. The fields here can be set; docs/findings.md says why they are so.

    The defaults follow RocketMQ's own timers.
    """

    grace_membership_ms: int = 25_000  # rebalance every 20 s
    grace_route_ms: int = 55_000  # route poll every 30 s, then the rebalance timer
    grace_broker_ms: int = 175_000  # name server drops a broker after 120 s; heartbeats come back within 30 s
    grace_orderly_extra_ms: int = 60_000  # a dead client's queue locks expire after 60 s
    settle_limit: int = 3  # times grace: how long a queue may differ and still count as settling
    hold_critical_ms: int = 5_000
    hold_warning_ms: int = 30_000
    stall_ms: int = 60_000
    consume_stall_ms: int = 300_000  # longer than a batch takes; consumers store their offset every 5 s
    report_max_age_ms: int = 90_000
    view_max_age_ms: int = 20_000
    route_max_age_ms: int = 200_000
    progress_max_gap_ms: int = 180_000
    deploy_wait_ms: int = 540_000
    second_address_proof_ms: int = 155_000
    ahead_of_clock_ms: int = 10_000
    storm_window_ms: int = 300_000
    storm_changes: int = 6
    gone_after_ms: int = 3_600_000
    forget_after_ms: int = 7 * 86_400_000
