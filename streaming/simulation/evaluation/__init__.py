"""How good the detector is: random fleets in trouble and in health, and what it says of them against the truth."""
