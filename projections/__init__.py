"""Folds over the log: everything derived, and therefore disposable.

No number here is a source of truth. Deleting all of it and replaying the log
gives the same bytes again.

    events    payloads -> grouping -> docket: facts of many events, as columns
    judgement resolutions, lineage, eligibility, leakage, vectors, integrity
    tables    judgement -> materialize, kept up with the log by fold
    rows      board, slots, baselines, entrants, cohort, measures -> rows -> report
    others    export and bundles publish rows; the audit recomputes everything

Published numbers are integers and fractions (`exact`); columns of them are numpy's
64-bit integers (`columns`), and no float is on the way.
"""
