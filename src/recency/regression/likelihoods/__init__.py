"""Likelihoods by which the exploratory partition is scored: each is an endpoint (recency.endpoints).

Each module here is a likelihood, and another package can provide more (`recency.plugins`). A module has
a literal `ENDPOINT`, the fields of `recency.endpoints.Endpoint`, and `parts(scored)`, which returns
the part (n,) of each row of a `recency.regression.log_likelihoods.Scored`, or None where a model has
no such likelihood.
"""
