"""The process that owns the writer's lock and answers agents.

Placed between the projections and the command line; holds no rule of its own.
"""
