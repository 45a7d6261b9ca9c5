"""What to ask whom, and when. All but the probes (``*_probe``) are values and decisions, with ``now`` given."""
