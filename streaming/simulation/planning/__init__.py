"""What a change will do to a group: shares by all six strategies, and what getting there costs."""
