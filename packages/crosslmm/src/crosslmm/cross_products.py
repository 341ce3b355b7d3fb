"""Cross-products: the sums over rows from which a mixed model's likelihood is computed.

Model: y = X b + Z_a u_a + Z_b u_b + e, with u_f ~ N(0, sigma^2 L_f L_f') for each level of grouping
factor f, and e ~ N(0, sigma^2). Factor a has G levels and i columns, factor b H levels and j
columns, K = H j. A cell is a pair of levels that occurs in the rows; Z_a'Z_b is dense or sparse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import blas, lapack
from scipy.sparse import csr_array, vstack

AT_ONCE = 4_000_000
"""Elements of Z_a'Z_b that are multiplied at once."""
GATHERED = 0.04
"""Share of nonempty cells below which products of single cells are faster than dense ones."""


class _Crossed(ABC):
    """Z_a'Z_b (G, i, H j), and its products with Lambda_b, the block-diagonal matrix of Lb."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the dense array, (G, i, H, j)."""

    @abstractmethod
    def _scaled(self, levels: slice, Lb: np.ndarray) -> np.ndarray:
        """Return these levels of Z_a'Z_b Lambda_b (levels, i, K), in a new array."""

    def subtract_gram(self, S: np.ndarray, T: np.ndarray, Lb: np.ndarray) -> None:
        """Subtract M'M from the lower triangle of S (K, K), M = T Z_a'Z_b Lambda_b by level.

        T is (G, i, i), Lb (j, j), and S has Fortran's order.
        """
        for levels in self._parts():
            M = T[levels] @ self._scaled(levels, Lb)
            M = M.reshape(-1, len(S))
            blas.dsyrk(-1.0, M.T, beta=1.0, c=S, lower=1, overwrite_c=1)

    def quadratic(self, F: np.ndarray, Lb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return B S^-1 B' by level (G, i, i), B = Z_a'Z_b Lambda_b, for S = F F' (K, K).

        The second array is the sum of the diagonal blocks of S^-1 (j, j). F is overwritten.
        """
        G, i, H, j = self.shape
        inverse, result = lapack.dtrtri(F, lower=1, overwrite_c=1)[0], np.empty((G, i, i))
        for levels in self._parts():
            B = self._scaled(levels, Lb)
            turned = blas.dtrmm(1.0, inverse, B.reshape(-1, len(F)).T, lower=1, overwrite_b=1)
            turned = turned.T.reshape(B.shape)
            result[levels] = turned @ turned.transpose(0, 2, 1)
        columns = inverse.T.reshape(H, j, H * j)
        return result, (columns @ columns.transpose(0, 2, 1)).sum(0)

    def _parts(self) -> Iterator[slice]:
        G, i, H, j = self.shape
        step = max(1, AT_ONCE // max(1, i * H * j))
        yield from (slice(start, start + step) for start in range(0, G, step))


@dataclass
class Dense(_Crossed):
    """Dense Z_a'Z_b, (G, i, K), for factor b with j columns."""

    values: np.ndarray
    j: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the array by level and column of b, (G, i, H, j)."""
        G, i, K = self.values.shape
        return G, i, K // self.j, self.j

    def left(self, by_level: np.ndarray) -> np.ndarray:
        """Return Z_b'Z_a v (K, q) for v (G, i, q)."""
        G, i, K = self.values.shape
        return self.values.reshape(G * i, K).T @ by_level.reshape(G * i, by_level.shape[2])

    def dot(self, v: np.ndarray) -> np.ndarray:
        """Return Z_a'Z_b v (G, i) for v (K,)."""
        return self.values @ v

    def _scaled(self, levels: slice, Lb: np.ndarray) -> np.ndarray:
        values = self.values[levels]
        if self.j == 1:
            return values * Lb.item()
        return (values.reshape(-1, self.j) @ Lb).reshape(values.shape)


@dataclass
class Sparse(_Crossed):
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
        return self._scaled(slice(0, self.levels[0]), np.eye(self.shape[3])).reshape(self.shape)

    def select_columns(self, a: Sequence[int], b: Sequence[int]) -> Sparse:
        """Select these columns of Z_a and Z_b."""
        return Sparse(self.levels, self.cells, self.values[:, a][:, :, b])

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

    def subtract_gram(self, S: np.ndarray, T: np.ndarray, Lb: np.ndarray) -> None:
        """See Dense.subtract_gram."""
        if not self._is_gathered():
            return super().subtract_gram(S, T, Lb)
        G, _, H, j = self.shape
        entries = (T[self.a] @ (self.values @ Lb)).transpose(1, 0, 2)
        index = (self.b[:, None] * j + np.arange(j)).ravel()
        M = vstack([csr_array((e.ravel(), index, self.ends * j), (G, H * j)) for e in entries])
        columns, rows = M.tocsc(), M.T.tocsr()
        step = max(1, AT_ONCE // len(S))
        for start in range(0, len(S), step):
            part = slice(start, start + step)
            S[start:, part] -= (rows[start:] @ columns[:, part]).toarray()

    def quadratic(self, F: np.ndarray, Lb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Dense.quadratic."""
        if not self._is_gathered():
            return super().quadratic(F, Lb)
        G, i, H, j = self.shape
        inverse, result = lapack.dpotri(F, lower=1, overwrite_c=1)[0], np.zeros((G, i, i))
        values, counts = self.values @ Lb, np.diff(self.ends)
        pairs = np.concatenate([[0], np.cumsum(counts**2)])
        levels = 0
        while levels < G:
            end = max(levels + 1, np.searchsorted(pairs, pairs[levels] + AT_ONCE, "right") - 1)
            cells = np.arange(self.ends[levels], self.ends[end])
            many = counts[self.a[cells]]
            one = np.repeat(cells, many)
            # The other cell of a pair runs over the cells of the same level.
            other = np.arange(len(one)) - np.repeat(np.cumsum(many) - many, many)
            other += self.ends[self.a[one]]
            for p, q in np.ndindex(j, j):
                row, column_ = self.b[one] * j + p, self.b[other] * j + q
                weights = inverse[np.maximum(row, column_), np.minimum(row, column_)]
                for c, d in np.ndindex(i, i):
                    product = weights * values[one, c, p] * values[other, d, q]
                    result[levels:end, c, d] += np.bincount(
                        self.a[one] - levels, product, end - levels
                    )
            levels = end
        within = np.arange(H)[:, None, None] * j + np.arange(j)
        row, column_ = within.transpose(0, 2, 1), within
        blocks = inverse[np.maximum(row, column_), np.minimum(row, column_)]
        return result, blocks.sum(0)

    def _is_gathered(self) -> bool:
        G, H = self.levels
        return len(self.cells) < GATHERED * G * H

    def _scaled(self, levels: slice, Lb: np.ndarray) -> np.ndarray:
        (start, end, _), (_, i, H, j) = levels.indices(self.levels[0]), self.shape
        cells = slice(self.ends[start], self.ends[end])
        result = np.zeros((end - start, i, H, j))
        result[self.a[cells] - start, :, self.b[cells]] = self.values[cells] @ Lb
        return result.reshape(end - start, i, H * j)


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
    reml: bool = False
    """whether the likelihood is restricted"""

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
            if value is not None and name != "reml":
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
