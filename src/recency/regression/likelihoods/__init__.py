"""Likelihoods that score the exploratory partition: each is an endpoint (recency.endpoints).

Each module here is a likelihood, and another package can provide more (`recency.plugins`). A module
has a literal `ENDPOINT`, the fields of `recency.endpoints.Endpoint`, and `parts(scored)`, which
returns each row's part (n,) for a `recency.regression.log_likelihoods.Scored`, or None if the model
has no such likelihood.
"""
