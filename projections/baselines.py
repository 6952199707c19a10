"""Baselines: what a past-only rate would have said at the place of each vector.

(METRICS §7.) Computed for a whole suite at once, by one sweep over the outcomes
of its pool and the places of its vectors, in integers.
"""
