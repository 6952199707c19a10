"""Who may sign what: signatures, key files, and the roster of principals.

The lowest room of the house: it knows bytes, keys and roles, and nothing about
events. `nacl` is imported in `keys/signing.py` only.
"""
