"""Events of fleets of any size: a few groups are simulated faithfully, and stamped out under other names and times."""
