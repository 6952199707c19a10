"""Folds over the log: everything derived, and therefore disposable.

No number here is a source of truth. Deleting all of it and replaying the log
gives the same bytes again.
"""
