"""Densities of responses for Laplace's method, one module each.

A density has linear predictors: the location first, then log scale parameters. A module has

`PREDICTORS`
    names of the predictors, such as ``("mu", "sigma")``; the location has a link, the others are
    logs;
`LINKS`
    the links that the location may have, its default first;
`POSITIVE`
    whether responses must be above 0;
`POWERS`
    optional: with responses in a unit c times as small, the others' exponentials are larger by
    these powers of c; without it responses are not scaled before the fit;
`log_density(y, eta)`
    log p(y) (n,) for responses (n,) and linear predictors (n, K), the location on its own scale;
`derivatives(y, eta)`
    the gradient (n, K) and the Hessian (n, K, K) of `log_density` by `eta`;
`start(y)`
    starting values (K - 1,) of the other predictors, if there are any;
`expectation(eta)`
    the mean (n,) of the response.

Without scale parameters (K = 1) a module has, in place of `start`, `linked(y)`, finite values of the
location near the responses, `log_constant(y, weights)`, the log-likelihood's part that depends on no
parameter and is left out of `log_density`, and `draw(random, eta, weights)`.
"""
