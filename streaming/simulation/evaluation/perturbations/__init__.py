"""What a group, its cluster or the collector's events may meet with beside faults: one module for each family."""
