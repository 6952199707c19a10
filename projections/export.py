"""Bundles: rows published with everything that others need to recompute them.

(DESIGN §10.) The only room of polars, which is imported when a bundle is written.
"""
