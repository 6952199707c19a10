"""Cohorts: the units that a score is over, their hash, and the same-cohort rule.

Two losses may be compared only over the identical set of units (METRICS §5).
"""
