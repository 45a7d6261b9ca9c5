"""The forecast of a change to a group: shares by all six strategies, and the cost of the rebalance."""
