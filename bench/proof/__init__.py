"""The evaluation of the detector: random groups with and without faults, and its pages compared with the truth."""
