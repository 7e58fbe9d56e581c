"""Rows in the partitions of Dask collections: an `Engine` on the current client.

Everything that is asked is a task, a function of a shard and of what is told: Dask decides where it runs, and again
where a worker is lost. Nothing else in minrisk knows Dask.
"""
