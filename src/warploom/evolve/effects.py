"""A model of how levers move the time, from what a run has measured: means with uncertainty.

It is a Gaussian process on directives (Rasmussen and Williams 2006): the logarithm of the time is a
sum of one unknown effect for each lever, one for each pair (Duvenaud et al. 2011), and of what only
their combination explains. Numbers of one lever that are near, as powers of two, have like effects.
How much each lever counts, and how much pairs do, follows from the measurements: so levers without
effect are soon left alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Point = Mapping[str, str]
"""The value of each lever of a program; a lever that it has not may be left out."""

_NOISE = 1e-3  # of the variance: modelled times have none, measured ones some
# Shares of the variance that levers alone, pairs and combinations may have.
_MIXTURES = ((0.8, 0.1, 0.1), (0.5, 0.3, 0.2), (0.2, 0.5, 0.3))
_NEAR = 2.0  # doublings over which a number's effect changes
_ROUNDS = 4  # of estimating what each lever counts
_CALM = 2.0  # measurements' worth of the belief that all levers count alike
_LEAST = 0.25  # of an equal share: what a lever counts at least, as it may matter elsewhere
_MOST = 96  # latest programs that are taken into account, besides the best
_BEST = 32
_FAR = 1.0  # of what lies between the best and the middle: what is farther beyond is all as slow
_LEAST_SPREAD = 0.01  # of the logarithms of times: below it nothing is to be learned

Place = tuple[tuple[str, str], ...]


def place_of(point: Point) -> Place:
    """Return a point as a key."""
    return tuple(sorted(point.items()))


@dataclass(frozen=True, slots=True)
class Guess:
    """What is expected of points: mean and standard deviation of log time, each of shape (n,)."""

    mean: Floats
    deviation: Floats

    def improvement(self, best: float) -> Floats:
        """Return the expected improvement on `best` (Jones et al. 1998), shape (n,)."""
        ahead = (best - self.mean) / self.deviation
        density = np.exp(-0.5 * ahead**2) / math.sqrt(2.0 * math.pi)
        below = np.array([0.5 * math.erfc(-one / math.sqrt(2.0)) for one in ahead.tolist()])
        return self.deviation * (ahead * below + density)


class Effects:
    """Learns log times by directives, in the order in which programs were recorded.

    Args:
        failure: how much slower than the slowest correct program a failed one counts, in log time.
    """

    def __init__(self, failure: float) -> None:
        self._failure = failure
        self._points: list[Point] = []
        self._logs: list[float | None] = []
        self._places: set[Place] = set()

    def __len__(self) -> int:
        return len(self._points)

    def observe(self, point: Point, log_time: float | None) -> None:
        """Learn the log time of a program, None where it failed."""
        self._points.append(point)
        self._logs.append(log_time)
        self._places.add(place_of(point))

    def knows(self, place: Place) -> bool:
        """Whether a program with these directives was judged."""
        return place in self._places

    def fitted(self, waiting: Sequence[Point] = ()) -> "Fitted | None":
        """Return what is known by now; None before a first correct program.

        What is being judged (`waiting`) counts as if it turned out as expected: nobody looks there
        twice, and nothing is learned from it.
        """
        sound = [log for log in self._logs if log is not None]
        if not sound:
            return None
        worst = max(sound) + self._failure
        logs = np.array([worst if log is None else log for log in self._logs])
        logs = np.minimum(logs, _tail(logs))
        chosen = self._chosen(logs)
        points = [self._points[at] for at in chosen]
        found = Fitted(points, logs[chosen])
        if not waiting:
            return found
        expected = found.guess(waiting).mean
        return Fitted([*points, *waiting], np.concatenate([logs[chosen], expected]))

    def _chosen(self, logs: Floats) -> list[int]:
        """Return which programs are taken into account, in order."""
        count = len(logs)
        if count <= _MOST + _BEST:
            return list(range(count))
        best = np.argsort(logs, kind="stable")[:_BEST].tolist()
        return sorted({*range(count - _MOST, count), *best})


class Fitted:
    """The model, given measurements: `logs` (n,) of `points`."""

    def __init__(self, points: Sequence[Point], logs: Floats) -> None:
        self._levers = sorted({name for one in points for name in one})
        self._codes: list[dict[str, int]] = [{} for _ in self._levers]
        self._alike: list[Floats] = []
        self._rows = self._encoded(points)
        self._middle = float(logs.mean())
        self._scale = max(float(logs.std()), _LEAST_SPREAD)
        self._heard = (logs - self._middle) / self._scale
        self._parts = self._parts_of(self._rows)
        self._counts, self._mixture = np.ones(0), _MIXTURES[1]
        self._factor: Floats = np.zeros((0, 0))
        self._weights: Floats = np.zeros(0)
        self._adapt()

    def guess(self, points: Sequence[Point]) -> Guess:
        """Return what is expected of points, one at least."""
        parts = self._parts_of(self._encoded(points))
        between = self._kernel(parts)
        mean = between @ self._weights
        explained = np.linalg.solve(self._factor, between.T)
        rest = np.maximum(1.0 - (explained**2).sum(axis=0), _NOISE)
        return Guess(self._middle + self._scale * mean, self._scale * np.sqrt(rest))

    def _encoded(self, points: Sequence[Point]) -> Codes:
        """Return the number of each lever's value: shape (n, levers)."""
        rows = [
            [codes.setdefault(one.get(name, ""), len(codes))
             for name, codes in zip(self._levers, self._codes, strict=True)]
            for one in points
        ]  # fmt: skip
        self._alike = [_alike(list(codes)) for codes in self._codes]
        return np.array(rows, dtype=np.int64).reshape(len(points), len(self._levers))

    def _parts_of(self, rows: Codes) -> Floats:
        """Return how alike rows and measured points are in each lever: (levers, n, measured)."""
        return np.array([
            table[rows[:, at][:, None], self._rows[:, at][None, :]]
            for at, table in enumerate(self._alike)
        ]).reshape(len(self._levers), len(rows), len(self._rows))  # fmt: skip

    def _kernel(self, parts: Floats) -> Floats:
        """Return the covariance of rows and measured points: shape (n, measured)."""
        if not self._levers:
            return np.ones(parts.shape[1:])
        ones, pairs, rest = self._mixture
        alone = np.einsum("l,lij->ij", self._counts, parts)
        squares = self._counts**2
        both = alone**2 - np.einsum("l,lij->ij", squares, parts**2)
        most = 1.0 - float(squares.sum())
        both = both / most if most > _NOISE else alone
        differ = np.minimum(0.9, 0.5 * self._counts * len(self._counts))
        joint = np.prod(1.0 - differ[:, None, None] * (1.0 - parts), axis=0)
        return ones * alone + pairs * both + rest * joint

    def _adapt(self) -> None:
        """Choose what explains the measurements best: the mixture, and what each lever counts."""
        best = -math.inf
        found = (self._counts, self._mixture, self._factor, self._weights)
        for mixture in _MIXTURES:
            self._mixture = mixture
            self._counts = self._estimated()
            kernel = self._kernel(self._parts) + _NOISE * np.eye(len(self._heard))
            factor = np.asarray(np.linalg.cholesky(kernel), dtype=np.float64)
            weights = _solved(factor, self._heard)
            likely = -0.5 * float(self._heard @ weights) - float(np.log(np.diag(factor)).sum())
            if likely > best:
                best, found = likely, (self._counts, mixture, factor, weights)
        self._counts, self._mixture, self._factor, self._weights = found

    def _estimated(self) -> Floats:
        """Return each lever's share of the variance, sum 1: shape (levers,).

        Each round moves a share by how much of the measurements its lever explains, as against
        what it would of noise (the fixed point of the marginal likelihood), held back by `_CALM`.
        """
        count = max(1, len(self._levers))
        # What all measurements share is no effect.
        parts = self._parts - self._parts.mean(axis=1, keepdims=True)
        parts = parts - parts.mean(axis=2, keepdims=True)
        self._counts = np.full(len(self._levers), 1.0 / count)
        for _ in range(_ROUNDS if len(self._heard) > 1 else 0):
            kernel = self._kernel(self._parts) + _NOISE * np.eye(len(self._heard))
            inverse = np.linalg.inv(kernel)
            weights = inverse @ self._heard
            shares = self._mixture[0] * self._counts
            found = shares * np.einsum("i,lij,j->l", weights, parts, weights)
            noise = shares * np.einsum("ij,lij->l", inverse, parts)
            self._counts = (
                self._counts
                * (np.maximum(found, 0) + _CALM / count)
                / (np.maximum(noise, 0) + _CALM / count)
            )
            self._counts = np.maximum(self._counts / self._counts.sum(), _LEAST / count)
            self._counts /= self._counts.sum()
        return self._counts


def _tail(logs: Floats) -> float:
    """Return the log time from which on programs count as equally slow.

    How bad the bad ones are says little of how good ones differ, and would drown it.
    """
    middle, least = float(np.median(logs)), float(logs.min())
    return middle + _FAR * max(middle - least, _LEAST_SPREAD)


def _alike(values: Sequence[str]) -> Floats:
    """Return how like the effects of a lever's values are: 1 for the same, shape (n, n)."""
    logs = [math.log2(1 + int(one)) if one.isdecimal() and len(one) < 16 else None
            for one in values]  # fmt: skip
    found = np.eye(len(values))
    for at, one in enumerate(logs):
        for other, near in enumerate(logs):
            if one is not None and near is not None:
                found[at, other] = math.exp(-abs(one - near) / _NEAR)
    return found


def _solved(factor: Floats, values: Floats) -> Floats:
    found = np.linalg.solve(factor.T, np.linalg.solve(factor, values))
    return np.asarray(found, dtype=np.float64)
