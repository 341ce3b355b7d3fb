"""Cross-products: the sums over rows from which a mixed model's likelihood is computed.

Model: y = X b + Z_a u_a + Z_b u_b + e, with u_f ~ N(0, sigma^2 L_f L_f') for each level of grouping
factor f, and e ~ N(0, sigma^2). Factor a has G levels and i columns, factor b H and j.

Z_a'Z_b of two crossed factors, dense or sparse, and the products that the deviance needs.

Factor a has G levels and i columns, factor b H levels and j columns, K = H j. A cell is a pair of
levels that occurs in the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

AT_ONCE = 4_000_000
"""Elements of Z_a'Z_b that are multiplied at once."""


@dataclass
class Dense:
    """Dense Z_a'Z_b, (G, i, K)."""

    values: np.ndarray

    def gram(self, T: np.ndarray) -> np.ndarray:
        """Return M'M (K, K), where M = T Z_a'Z_b level by level and T is (G, i, i)."""
        total = None
        for levels in self._parts():
            M = T[levels] @ self.values[levels]
            M = M.reshape(len(M) * M.shape[1], M.shape[2])
            total = M.T @ M if total is None else np.add(total, M.T @ M, out=total)
        return total

    def left(self, by_level: np.ndarray) -> np.ndarray:
        """Return Z_b'Z_a v (K, q) for v (G, i, q)."""
        G, i, K = self.values.shape
        return self.values.reshape(G * i, K).T @ by_level.reshape(G * i, by_level.shape[2])

    def dot(self, v: np.ndarray) -> np.ndarray:
        """Return Z_a'Z_b v (G, i) for v (K,)."""
        return self.values @ v

    def quadratic(self, U: np.ndarray) -> np.ndarray:
        """Return Z_a'Z_b U Z_b'Z_a by level (G, i, i), for symmetric U (K, K)."""
        G, i, K = self.values.shape
        result = np.empty((G, i, i))
        for levels in self._parts():
            values = self.values[levels]
            turned = (values.reshape(len(values) * i, K) @ U).reshape(values.shape)
            result[levels] = turned @ values.transpose(0, 2, 1)
        return result

    def _parts(self) -> Iterator[slice]:
        G, i, K = self.values.shape
        step = max(1, AT_ONCE // max(1, i * K))
        yield from (slice(start, start + step) for start in range(0, max(G, 1), step))


@dataclass
class Sparse:
    """Z_a'Z_b of the C cells, ordered by a's level and then b's; has the methods of Dense."""

    levels: tuple[int, int]
    """G and H"""
    cells: np.ndarray
    """level of a times H plus level of b, (C,), increasing"""
    values: np.ndarray
    """(C, i, j)"""
    a: np.ndarray = field(init=False)
    b: np.ndarray = field(init=False)
    ends: np.ndarray = field(init=False)

    def __post_init__(self):
        G, H = self.levels
        self.a, self.b = np.divmod(self.cells, H)
        self.ends = np.searchsorted(self.a, np.arange(G + 1))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the dense array, (G, i, H, j)."""
        (G, H), (_, i, j) = self.levels, self.values.shape
        return G, i, H, j

    def whole(self) -> np.ndarray:
        """Return the dense array, (G, i, H, j)."""
        result = np.zeros(self.shape)
        result[self.a, :, self.b] = self.values
        return result

    def select_columns(self, a: Sequence[int], b: Sequence[int]) -> Sparse:
        """Select these columns of Z_a and Z_b."""
        return Sparse(self.levels, self.cells, self.values[:, a][:, :, b])

    def gram(self, T: np.ndarray) -> np.ndarray:
        """See Dense.gram."""
        K = self.shape[2] * self.shape[3]
        total = np.zeros((K, K))
        for level, places, values in self._by_level():
            M = T[level] @ values
            total[places[:, None], places] += M.T @ M
        return total

    def left(self, by_level: np.ndarray) -> np.ndarray:
        """See Dense.left."""
        _, _, H, j = self.shape
        result = np.empty((H, j, by_level.shape[2]))
        for q in range(by_level.shape[2]):
            of_cell = np.einsum("cij,ci->cj", self.values, by_level[self.a, :, q])
            for d in range(j):
                result[:, d, q] = np.bincount(self.b, of_cell[:, d], H)
        return result.reshape(H * j, by_level.shape[2])

    def dot(self, v: np.ndarray) -> np.ndarray:
        """See Dense.dot."""
        G, i, H, j = self.shape
        of_cell = np.einsum("cij,cj->ci", self.values, v.reshape(H, j)[self.b])
        sums = [np.bincount(self.a, of_cell[:, c], G) for c in range(i)]
        return np.stack(sums, axis=1) if sums else np.zeros((G, 0))

    def quadratic(self, U: np.ndarray) -> np.ndarray:
        """See Dense.quadratic."""
        G, i, _, _ = self.shape
        result = np.zeros((G, i, i))
        for level, places, values in self._by_level():
            result[level] = values @ U[places[:, None], places] @ values.T
        return result

    def _by_level(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each level of a, the indices of its cells' columns of Z_b, and values (i, …)."""
        _, i, _, j = self.shape
        for level, (start, end) in enumerate(zip(self.ends, self.ends[1:], strict=False)):
            if start < end:
                places = (self.b[start:end, None] * j + np.arange(j)).ravel()
                yield level, places, self.values[start:end].transpose(1, 0, 2).reshape(i, -1)


class Cells:
    """Sums over the cells of rows that are added in parts."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0

    def add(self, cells: np.ndarray, values: np.ndarray) -> None:
        """Add rows: the cell of each (n,), and the values to sum (q, n)."""
        self._parts.append(_sum_by_cell(cells, values))
        self._waiting += len(self._parts[-1][0])
        if self._waiting > len(self._parts[0][0]):  # bounds how often each sum is merged
            self._join()

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells (C,), increasing, and their sums (q, C)."""
        self._join()
        return self._parts[0]

    def _join(self) -> None:
        if len(self._parts) > 1:
            cells = np.concatenate([cells for cells, _ in self._parts])
            self._parts = [_sum_by_cell(cells, np.concatenate([s for _, s in self._parts], axis=1))]
        self._waiting = 0


def _sum_by_cell(cells: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    filled, where = np.unique(cells, return_inverse=True)
    return filled, np.array([np.bincount(where, row, len(filled)) for row in values])


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
