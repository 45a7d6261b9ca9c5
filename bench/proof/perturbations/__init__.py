"""Perturbations of a group, its cluster or the collector's events, beside faults: one module for each family."""
