"""What to ask whom, and when. All but ``cluster`` and ``group_round`` are values and decisions, with ``now`` given."""
