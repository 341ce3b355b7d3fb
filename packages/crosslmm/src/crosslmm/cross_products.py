"""Cross-products: the sums over rows from which a mixed model's likelihood is computed.

Model: y = X b + Z_a u_a + Z_b u_b + e, with u_f ~ N(0, sigma^2 L_f L_f') for each level of grouping
factor f, and e ~ N(0, sigma^2). Factor a has G levels and i columns, factor b H and j.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crosslmm.crossed_sums import Cells, Sparse


@dataclass
class Block:
    """Some of the rows: X (n, p), y (n,), and for each factor its codes (n,) and columns (n, k)."""

    X: np.ndarray
    y: np.ndarray
    a: np.ndarray
    Za: np.ndarray
    b: np.ndarray
    Zb: np.ndarray
    root: np.ndarray | None = None
    """for weighted rows, the square roots (n,) of the weights, which multiply X, y, Za and Zb"""


@dataclass
class Products:
    """Cross-products of Z_a, Z_b and W = [X y]; their size is independent of the number of rows."""

    n: int
    aa: np.ndarray
    """Z_a'Z_a by level, (G, i, i)"""
    bb: np.ndarray
    """Z_b'Z_b by level, (H, j, j)"""
    ab: np.ndarray | Sparse | None
    """Z_a'Z_b, (G, i, H, j)"""
    aw: np.ndarray
    """Z_a'W, (G, i, p + 1)"""
    bw: np.ndarray
    """Z_b'W, (H, j, p + 1)"""
    ww: np.ndarray
    """W'W, (p + 1, p + 1)"""
    cells: np.ndarray | None = None
    """for a nested intercept: the number of rows (or their weight) and the sums of Z_a, Z_b and W
    of each pair of levels, (G, H, 1 + i + j + p + 1)"""
    kept: tuple[int, ...] | None = None
    """the columns of X that are left after `drop_dependent`"""
    times_a: np.ndarray | None = None
    """how often each level of a occurs, (G,); see crosslmm.cells"""
    times_b: np.ndarray | None = None
    """how often each level of b occurs, (H,)"""

    def zz(self) -> list[np.ndarray]:
        """Return Z'Z by level (levels, k, k) of each factor, and of a nested intercept."""
        zz = [self.aa, self.bb]
        if self.times_a is not None:
            zz = [np.repeat(zz[0], self.times_a, 0), np.repeat(zz[1], self.times_b, 0)]
        if self.cells is not None:
            zz.append(self.cells[self.cells[:, :, 0] > 0][:, 0, None, None])
        return zz


def cross_products(
    blocks: Iterable[Block], G: int, H: int, nested: bool = False, sparse: bool = False
) -> Products:
    """Sum over `blocks` of rows, divided in any way, whose codes are below G and H.

    With `nested`, the sums within each pair of levels are stored for an intercept of each pair.
    With `sparse`, Z_a'Z_b is stored only for pairs that occur.
    """
    products, cells, shape = None, Cells(), (0, 0)
    for block in blocks:
        part = _of_block(block, G, H, nested, sparse)
        if sparse:
            shape = block.Za.shape[1], block.Zb.shape[1]
            pairs = [z * w for z in block.Za.T for w in block.Zb.T]
            cells.add(block.a * H + block.b, np.array(pairs).reshape(-1, len(block.y)))
        if products is None:
            products = part
            continue
        for name, value in vars(part).items():
            if value is not None:
                setattr(products, name, getattr(products, name) + value)
    if sparse:
        filled, sums = cells.sums()
        products.ab = Sparse((G, H), filled, np.ascontiguousarray(sums.T).reshape(-1, *shape))
    return products


def select_columns(products: Products, a: Sequence[int], b: Sequence[int]) -> Products:
    """Return the cross-products of a model with only these columns of Z_a and Z_b."""
    a, b, ab = list(a), list(b), products.ab
    i, cells = products.aa.shape[1], products.cells
    if cells is not None:
        after = range(1 + i + products.bb.shape[1], cells.shape[2])
        cells = cells[:, :, [0, *(1 + c for c in a), *(1 + i + c for c in b), *after]]
    return replace(
        products,
        aa=products.aa[:, a][:, :, a],
        bb=products.bb[:, b][:, :, b],
        ab=ab.select_columns(a, b) if isinstance(ab, Sparse) else ab[:, a][:, :, :, b],
        aw=products.aw[:, a],
        bw=products.bw[:, b],
        cells=cells,
    )


def drop_dependent(products: Products) -> Products:
    """Drop columns of X that depend on earlier ones, with lme4's tolerance (qr's, 1e-7)."""
    p = products.ww.shape[0] - 1
    gram, kept = products.ww[:p, :p].copy(), []
    size = np.diagonal(gram).copy()
    for c in range(p):
        # A squared length has half the digits: the remainder of a dependent column is rounding.
        if gram[c, c] > 1e-11 * max(size[c], np.finfo(float).tiny):
            kept.append(c)
            gram -= np.outer(gram[:, c], gram[c]) / gram[c, c]
    columns = tuple(kept)
    kept.append(p)
    cells = products.cells
    if cells is not None:
        before = cells.shape[2] - p - 1
        cells = cells[:, :, [*range(before), *(before + c for c in kept)]]
    return replace(
        products,
        cells=cells,
        aw=products.aw[:, :, kept],
        bw=products.bw[:, :, kept],
        ww=products.ww[np.ix_(kept, kept)],
        kept=columns,
    )


def _of_block(block: Block, G: int, H: int, nested: bool, sparse: bool) -> Products:
    W = np.column_stack([block.X, block.y])
    i, j = block.Za.shape[1], block.Zb.shape[1]
    cell, ab = block.a * H + block.b, None
    if not sparse:
        ab = np.empty((i, j, G, H))
        for c in range(i):
            for d in range(j):
                weights = block.Za[:, c] * block.Zb[:, d]
                ab[c, d] = np.bincount(cell, weights, G * H).reshape(G, H)
        ab = ab.transpose(2, 0, 3, 1).copy()
    cells = None
    if nested:
        root = np.ones(len(block.y)) if block.root is None else block.root
        columns = (root, *block.Za.T, *block.Zb.T, *W.T)
        sums = [np.bincount(cell, root * values, G * H) for values in columns]
        cells = np.stack(sums, axis=-1).reshape(G, H, -1)
    aa, aw = _by_level(block.a, block.Za, W, G)
    bb, bw = _by_level(block.b, block.Zb, W, H)
    return Products(len(block.y), aa, bb, ab, aw, bw, W.T @ W, cells)


def _by_level(
    codes: np.ndarray, Z: np.ndarray, W: np.ndarray, levels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum Z'Z (levels, k, k) and Z'W (levels, k, q) within each level, each product once."""
    columns, index = [], []
    for values in (*Z.T, *W.T):
        same = (i for i, other in enumerate(columns) if np.array_equal(values, other))
        number = next(same, len(columns))
        if number == len(columns):
            columns.append(np.ascontiguousarray(values))
        index.append(number)
    k, done = Z.shape[1], {}
    sums = np.empty((levels, k, len(index)))
    for c in range(k):
        for d, other in enumerate(index):
            pair = (min(index[c], other), max(index[c], other))
            if pair not in done:
                done[pair] = np.bincount(codes, columns[pair[0]] * columns[pair[1]], levels)
            sums[:, c, d] = done[pair]
    return sums[:, :, :k].copy(), sums[:, :, k:].copy()
