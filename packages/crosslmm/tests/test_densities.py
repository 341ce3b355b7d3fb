"""Densities of skewed responses: against differences of themselves, and integrals."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from crosslmm.densities import exgaussian, gamma, gaussian, inverse_gaussian
from crosslmm.laplace import apply_inverse_link, log_density

DENSITIES = {
    "gaussian": (gaussian, [[300.0, np.log(60.0)], [250.0, np.log(40.0)]]),
    "gamma": (gamma, [[300.0, np.log(0.3)], [250.0, np.log(0.5)]]),
    "inverse_gaussian": (inverse_gaussian, [[300.0, np.log(0.02)], [250.0, np.log(0.03)]]),
    "exgaussian": (
        exgaussian,
        [[300.0, np.log(50.0), np.log(90.0)], [250.0, np.log(90.0), np.log(30.0)]],
    ),
}
each = pytest.mark.parametrize("name", DENSITIES)


@each
def test_derivatives_are_those_of_the_log_density(name):
    density, parameters = DENSITIES[name]
    eta = np.repeat(parameters, 4, axis=0)
    y = np.tile([120.0, 260.0, 410.0, 900.0], 2)
    gradient, hessian = density.derivatives(y, eta)
    for k in range(eta.shape[1]):
        step = np.zeros(eta.shape[1])
        step[k] = 1e-5 * max(1.0, abs(eta[0, k]))
        difference = density.log_density(y, eta + step) - density.log_density(y, eta - step)
        np.testing.assert_allclose(gradient[:, k], difference / (2 * step[k]), rtol=1e-6, atol=1e-9)
        difference = density.derivatives(y, eta + step)[0] - density.derivatives(y, eta - step)[0]
        np.testing.assert_allclose(hessian[:, k], difference / (2 * step[k]), rtol=1e-6, atol=1e-9)


@each
def test_densities_integrate_to_1_and_have_the_mean_that_they_state(name):
    density, parameters = DENSITIES[name]
    for row in np.array(parameters):
        eta = row[None]

        def value(y, eta=eta):
            return float(np.exp(density.log_density(np.array([y]), eta))[0])

        low = 0 if density.POSITIVE else -500
        total = quad(value, low, 4000, limit=400, epsabs=1e-11)[0]
        mean = quad(lambda y, value=value: y * value(y), low, 4000, limit=400, epsabs=1e-9)[0]
        assert total == pytest.approx(1, abs=1e-8)
        assert mean == pytest.approx(density.expectation(eta)[0], rel=1e-6)


def test_densities_are_those_of_scipy():
    y = np.array([120.0, 260.0, 900.0])
    eta = np.tile([300.0, np.log(0.4)], (3, 1))
    shape = 1 / 0.4**2
    expected = stats.gamma.logpdf(y, shape, scale=300 / shape)
    np.testing.assert_allclose(gamma.log_density(y, eta), expected, rtol=1e-12)
    rate = 1 / 0.02**2
    expected = stats.invgauss.logpdf(y, 300 / rate, scale=rate)
    eta[:, 1] = np.log(0.02)
    np.testing.assert_allclose(inverse_gaussian.log_density(y, eta), expected, rtol=1e-12)
    eta = np.tile([300.0, np.log(50.0), np.log(90.0)], (3, 1))
    expected = stats.exponnorm.logpdf(y, 90 / 50, loc=300 - 90, scale=50)
    np.testing.assert_allclose(exgaussian.log_density(y, eta), expected, rtol=1e-10)


def test_a_location_that_is_not_above_0_has_no_density():
    eta = np.array([[-1.0, 0.0], [300.0, 0.0]])
    values = log_density(gamma, "identity", np.array([200.0, 200.0]), eta)
    assert values[0] == -np.inf
    assert np.isfinite(values[1])
    np.testing.assert_allclose(apply_inverse_link("log", eta)[:, 0], np.exp(eta[:, 0]))
