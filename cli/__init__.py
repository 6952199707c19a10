"""The commands: they parse arguments, call the rooms below, and print.

No decision is taken here. Data goes to stdout, notes to stderr.
"""
