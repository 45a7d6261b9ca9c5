"""``evenkeel explain``: the known state of a group at a time, and the reasons for its alerts, from the tables alone."""
