"""Reporting rows: one a suite version, forecaster, horizon, slot and slice.

(DESIGN §8, METRICS §§1-6, 24.) A row is a function of the tables and the frozen
manifest; no clock is read.
"""
