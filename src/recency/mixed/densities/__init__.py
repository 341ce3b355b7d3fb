"""Densities of skewed and heteroscedastic responses, one module each, for mixed models fitted by Laplace's method.

A density has linear predictors: the location first, then log scale parameters. A module has

`PREDICTORS`
    their names, such as ``("mu", "sigma")``; the location has a link, the others are logarithms;
`LINKS`
    the links of the location that it allows, its default first;
`POSITIVE`
    whether responses must be above 0;
`log_density(y, eta)`
    log p(y) (n,) for responses (n,) and linear predictors (n, K), the location on its own scale;
`derivatives(y, eta)`
    the gradient (n, K) and the Hessian (n, K, K) of `log_density` by `eta`;
`start(y)`
    values (K - 1,) of the other predictors from which a search may start;
`expectation(eta)`
    the mean (n,) of the response.
"""
