"""Events of fleets of any size: a few groups are simulated, and many are generated from them."""
