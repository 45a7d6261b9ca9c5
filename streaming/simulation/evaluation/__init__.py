"""How good the detector is: random groups with faults and without, and its pages compared with the truth."""
