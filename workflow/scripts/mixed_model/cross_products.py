"""All that the likelihood of a mixed model needs from the data: sums over its rows.

Model: y = X b + Z_a u_a + Z_b u_b + e, with u_f ~ N(0, sigma^2 L_f L_f') for each level of grouping
factor f, and e ~ N(0, sigma^2). Factor a has G levels and i columns, factor b H and j.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Block:
    """Some of the rows: X (n, p), y (n,), and for each factor its codes (n,) and columns (n, k)."""

    X: np.ndarray
    y: np.ndarray
    a: np.ndarray
    Za: np.ndarray
    b: np.ndarray
    Zb: np.ndarray


@dataclass
class Products:
    """Cross-products of Z_a, Z_b and W = [X y]; memory is free of the number of rows `n`."""

    n: int
    aa: np.ndarray
    """Z_a'Z_a by level, (G, i, i)"""
    bb: np.ndarray
    """Z_b'Z_b by level, (H, j, j)"""
    ab: np.ndarray
    """Z_a'Z_b, (G, i, H, j)"""
    aw: np.ndarray
    """Z_a'W, (G, i, p + 1)"""
    bw: np.ndarray
    """Z_b'W, (H, j, p + 1)"""
    ww: np.ndarray
    """W'W, (p + 1, p + 1)"""


def cross_products(blocks: Iterable[Block], G: int, H: int) -> Products:
    """Sum over `blocks`, whose codes run below G and H; rows may be cut into blocks anywhere."""
    products = None
    for block in blocks:
        part = _of_block(block, G, H)
        if products is None:
            products = part
            continue
        for name, value in vars(part).items():
            setattr(products, name, getattr(products, name) + value)
    return products


def independent(products: Products) -> Products:
    """Leave out the columns of X that depend on earlier ones, as lme4 does (qr's limit, 1e-7)."""
    p = products.ww.shape[0] - 1
    gram, kept = products.ww[:p, :p].copy(), []
    size = np.diagonal(gram).copy()
    for c in range(p):
        # A squared length, so half the digits: what is left of a dependent column is rounding.
        if gram[c, c] > 1e-11 * max(size[c], np.finfo(float).tiny):
            kept.append(c)
            gram -= np.outer(gram[:, c], gram[c]) / gram[c, c]
    kept.append(p)
    return replace(
        products,
        aw=products.aw[:, :, kept],
        bw=products.bw[:, :, kept],
        ww=products.ww[np.ix_(kept, kept)],
    )


def _of_block(block: Block, G: int, H: int) -> Products:
    W = np.column_stack([block.X, block.y])
    i, j, q = block.Za.shape[1], block.Zb.shape[1], W.shape[1]
    ab = np.empty((i, j, G, H))
    cell = block.a * H + block.b
    for c in range(i):
        for d in range(j):
            weights = block.Za[:, c] * block.Zb[:, d]
            ab[c, d] = np.bincount(cell, weights, G * H).reshape(G, H)
    return Products(
        n=len(block.y),
        aa=_by_level(block.a, block.Za, block.Za, G).reshape(G, i, i),
        bb=_by_level(block.b, block.Zb, block.Zb, H).reshape(H, j, j),
        ab=ab.transpose(2, 0, 3, 1).copy(),
        aw=_by_level(block.a, block.Za, W, G).reshape(G, i, q),
        bw=_by_level(block.b, block.Zb, W, H).reshape(H, j, q),
        ww=W.T @ W,
    )


def _by_level(codes: np.ndarray, U: np.ndarray, V: np.ndarray, levels: int) -> np.ndarray:
    """Sum the outer products of the rows of U and V within each level."""
    sums = np.empty((levels, U.shape[1], V.shape[1]))
    for c in range(U.shape[1]):
        for d in range(V.shape[1]):
            sums[:, c, d] = np.bincount(codes, U[:, c] * V[:, d], levels)
    return sums
