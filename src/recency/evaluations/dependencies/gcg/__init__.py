"""Trees of a generalized categorial grammar (Nguyen et al. 2012), and the dependencies in them."""
