#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Block cyclic reduction from the start: the other way to couple a band exactly on a GPU, beside full SPIKE.

A band of half-bandwidth K is block tridiagonal with dense blocks of K x K. Each level eliminates every other block row,
with row exchanges inside its diagonal block (cuBLAS, by CuPy): about 17 N K^2 flops in a setup, and 2 N K^2 more for
the inverses of these blocks, which a solve multiplies with. Prints the time of a setup and of a solve, medians after a
first call, and the residual, for random bands of dominance d as in benchmarks/spike.c. K divides N. Compare with

    spike -mat_type aijcusparse -cases N,K -d D

usage: bcr.py [N,K ...] [-d D]
"""
import sys
import time

import cupy as cp


def band(n, k, d, seed=1):
    """Blocks (lower, diagonal, upper), each (n / k, k, k)"""
    rng = cp.random.RandomState(seed)
    m = n // k
    i = cp.arange(k)
    lower = rng.uniform(-1, 1, (m, k, k)) * (i[None, :] >= i[:, None])
    upper = rng.uniform(-1, 1, (m, k, k)) * (i[None, :] <= i[:, None])
    diag = rng.uniform(-1, 1, (m, k, k)) * (1 - cp.eye(k))
    lower[0] = 0
    upper[-1] = 0
    total = sum(cp.abs(a).sum(axis=2) for a in (lower, diag, upper))
    diag[:, i, i] = d * total
    return lower, diag, upper


def setup(lower, diag, upper):
    """Inverses of the diagonal blocks that go, what couples them, of all levels; the inverse of the last block"""
    levels = []
    while len(diag) > 1:
        lo, di, up = lower[1::2], diag[1::2], upper[1::2]
        k = di.shape[1]
        one = cp.broadcast_to(cp.eye(k), di.shape)
        solved = cp.linalg.solve(di, cp.concatenate((lo, up, one), axis=2))
        # D^-1 L, D^-1 U, D^-1 of the rows that go, each in one piece for the products of a solve
        x, y, inverse = (cp.ascontiguousarray(solved[:, :, j * k:(j + 1) * k]) for j in range(3))
        le, ue, de = lower[0::2], upper[0::2], diag[0::2].copy()
        m = len(de)
        nl, nu = cp.zeros_like(de), cp.zeros_like(de)
        de[1:m] -= cp.matmul(le[1:m], y[:m - 1])
        nl[1:m] = -cp.matmul(le[1:m], x[:m - 1])
        de[:len(x)] -= cp.matmul(ue[:len(x)], x)
        nu[:len(x)] = -cp.matmul(ue[:len(x)], y)
        levels.append((inverse, x, y, le, ue))
        lower, diag, upper = nl, de, nu
    return levels, cp.linalg.inv(diag)


def solve(levels, last, b):
    """x for b of (n / k, k)"""
    gone = []
    for inverse, x, y, le, ue in levels:
        w = cp.matmul(inverse, b[1::2][:, :, None])[:, :, 0]
        gone.append(w)
        b = b[0::2].copy()
        m = len(b)
        b[1:m] -= cp.matmul(le[1:m], w[:m - 1, :, None])[:, :, 0]
        b[:len(w)] -= cp.matmul(ue[:len(w)], w[:, :, None])[:, :, 0]
    sol = cp.matmul(last, b[:, :, None])[:, :, 0]
    for (_, x, y, le, ue), w in zip(reversed(levels), reversed(gone)):
        m, k = len(sol), sol.shape[1]
        w = w - cp.matmul(x, sol[:len(w), :, None])[:, :, 0]
        w[:m - 1] -= cp.matmul(y[:m - 1], sol[1:m, :, None])[:, :, 0]
        full = cp.empty((m + len(w), k))
        full[0::2], full[1::2] = sol, w
        sol = full
    return sol


def product(lower, diag, upper, x):
    y = cp.matmul(diag, x[:, :, None])[:, :, 0]
    y[1:] += cp.matmul(lower[1:], x[:-1, :, None])[:, :, 0]
    y[:-1] += cp.matmul(upper[:-1], x[1:, :, None])[:, :, 0]
    return y


def timed(work, repeat=5):
    times = []
    result = work()  # loads code and makes handles
    for _ in range(repeat):
        cp.cuda.Device().synchronize()
        t0 = time.perf_counter()
        result = work()
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - t0)
    return result, 1e3 * sorted(times)[repeat // 2]


def main():
    args = sys.argv[1:]
    d = 0.05
    if '-d' in args:
        i = args.index('-d')
        d = float(args[i + 1])
        del args[i:i + 2]
    print('Block cyclic reduction by cuBLAS, %s, d = %g' %
          (cp.cuda.runtime.getDeviceProperties(0)['name'].decode(), d))
    print('       N    K   setup ms   solve ms   residual   GFlop/s of 17 N K^2')
    for case in args or ['200000,50', '400000,128']:
        n, k = (int(v) for v in case.split(','))
        if n % k:
            sys.exit('bcr.py: N = %d is no multiple of K = %d' % (n, k))
        blocks = band(n, k, d)
        (levels, last), ms = timed(lambda: setup(*blocks))
        b = cp.random.RandomState(2).uniform(-1, 1, blocks[1].shape[:2])
        x, solvems = timed(lambda: solve(levels, last, b))
        r = b - product(*blocks, x)
        print('%8d %4d %10.3f %10.3f   %8.1e   %10.0f' %
              (n, k, ms, solvems, float(cp.linalg.norm(r) / cp.linalg.norm(b)), 17 * n * k * k / ms * 1e-6))


main()
