/* SPDX-License-Identifier: BSD-2-Clause */
/*
  problems.h: the systems that the tutorials solve, each made from a discretisation. Header only; everything is static.

      ChannelCreate()     2-D convection-diffusion in a channel, finite volumes; half-bandwidth = cells across
      FlameCreate()       1-D reacting flow, several species and temperature; half-bandwidth = 2 unknowns per point - 1
      ExchangerCreate()   counter-flow plate heat exchanger in a shuffled numbering, as it comes out of a mesh generator
*/
#pragma once

#include <petscmat.h>

/* A matrix of type -mat_type with at most nz entries in a row, and a right-hand side of type -vec_type for it */
static inline PetscErrorCode SystemCreate_Private(MPI_Comm comm, PetscInt nlocal, PetscInt n, PetscInt nz, Mat *A,
                                                  Vec *b)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, nz, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, nz, NULL, nz, NULL));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatCreateVecs(*A, NULL, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SystemAssemble_Private(Mat A, Vec b)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  div(u T) = div(grad T) / Pe in a channel of height 1, nx x ny square cells of side h = 1/ny.

  The flow is a plane Poiseuille profile with waves in it, given by the stream function psi = y^2 (3 - 2y) + 0.5 sin(2
  pi x / 4) (4y(1 - y))^2 / 4, u = psi_y, v = -psi_x: the flow through a face is the difference of psi at its ends, so
  that it is free of divergence to rounding. A face with outflow F (of volume) and diffusion D carries D (B(-F/D) T_here
  - B(F/D) T_there), B(p) = p/(e^p - 1): exact for a linear profile of the flow between two centres, upwind where F is
  large, central where it is small.

  T = 0 at the inlet and at the upper wall, T = 1 at the lower wall; the outlet lets out what arrives. Unknown i*ny + j
  is cell (i, j), so the band is the short direction.
*/
static inline PetscReal ChannelPsi_Private(PetscReal x, PetscReal y)
{
  const PetscReal q = 4.0 * y * (1.0 - y);

  return y * y * (3.0 - 2.0 * y) + 0.125 * PetscSinReal(PETSC_PI * x / 2.0) * q * q;
}

static inline PetscReal ChannelB_Private(PetscReal p)
{
  return PetscAbsReal(p) < 1e-4 ? 1.0 - 0.5 * p : p / (PetscExpReal(p) - 1.0);
}

static inline PetscErrorCode ChannelCreate(MPI_Comm comm, PetscInt nx, PetscInt ny, PetscReal Pe, Mat *A, Vec *b)
{
  const PetscReal h = 1.0 / ny, D = 1.0 / Pe;
  PetscInt        rstart, rend;

  PetscFunctionBegin;
  PetscCheck(nx > 0 && ny > 0 && Pe > 0.0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "The channel needs at least one cell in each direction and a positive Peclet number, got %" PetscInt_FMT
             " x %" PetscInt_FMT ", %g",
             nx, ny, (double)Pe);
  PetscCall(SystemCreate_Private(comm, PETSC_DECIDE, nx * ny, 5, A, b));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt  i = row / ny, j = row % ny;
    const PetscReal x = h * i, y = h * j;
    const PetscReal sw = ChannelPsi_Private(x, y), se = ChannelPsi_Private(x + h, y), nw = ChannelPsi_Private(x, y + h),
                    ne      = ChannelPsi_Private(x + h, y + h);
    const PetscReal F[4]    = {sw - nw, ne - se, se - sw, nw - ne}; /* out through west, east, south, north */
    const PetscInt  nb[4]   = {row - ny, row + ny, row - 1, row + 1};
    const PetscBool edge[4] = {(PetscBool)(i == 0), (PetscBool)(i == nx - 1), (PetscBool)(j == 0),
                               (PetscBool)(j == ny - 1)};
    const PetscReal wall[4] = {0.0, 0.0, 1.0, 0.0};
    PetscReal       diag = 0.0, rhs = 0.0;

    for (PetscInt k = 0; k < 4; k++) {
      const PetscReal d = edge[k] ? 2.0 * D : D; /* half the distance to a boundary */

      if (edge[k] && k == 1) diag += PetscMax(F[k], 0.0);
      else {
        diag += d * ChannelB_Private(-F[k] / d);
        if (edge[k]) rhs += d * ChannelB_Private(F[k] / d) * wall[k];
        else PetscCall(MatSetValue(*A, row, nb[k], -d * ChannelB_Private(F[k] / d), INSERT_VALUES));
      }
    }
    PetscCall(MatSetValue(*A, row, row, diag, INSERT_VALUES));
    PetscCall(VecSetValue(*b, row, rhs, INSERT_VALUES));
  }
  PetscCall(SystemAssemble_Private(*A, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One linearly implicit Euler step of a 1-D reacting flow, (I/dt + F'(u)) du = -F(u), with u = (Y_0, ..., Y_{ns-1}, T)
  at each point:

      F_k = m Y_k' + J_k' - sum_r nu_kr R_r(Y, T)                    J_k = -d_k Y_k' + Y_k sum_l d_l Y_l'
      F_T = m T' - (lambda T')' + sum_k c_k J_k T' - sum_r q_r R_r

  The second part of J_k, the usual correction that makes the fluxes add up to zero, couples every species to every
  other one in the neighbouring points: the blocks are full. Reaction r turns species r into species r + 1, R_r = A_r
  Y_r (1 + 2 Y_{r+2}) exp(E_r (1 - 1/T)) less a tenth of that backwards; the A_r lie between 1 and 10^3 (stiff). The
  state u is a train of flame fronts, 100 points each.
*/
#define FLAME_MAX 32

static inline void FlameState_Private(PetscInt nc, PetscReal x, PetscReal u[])
{
  const PetscInt ns = nc - 1;
  /* progress of the reaction */
  const PetscReal c = 0.5 * (1.0 + PetscTanhReal(8.0 * PetscSinReal(2.0 * PETSC_PI * x)));

  u[0] = 1.0 - c;
  for (PetscInt k = 1; k < ns - 1; k++) u[k] = 0.1 * c * (1.0 - c) * (1.0 + PetscSinReal(x + k));
  if (ns > 1) u[ns - 1] = c;
  u[nc - 1] = 0.25 + 0.75 * c;
}

/* F of one point, m = 1, from its state and those of its two neighbours */
static inline void FlameResidual_Private(PetscInt nc, PetscReal h, const PetscReal *w, const PetscReal *u,
                                         const PetscReal *e, PetscReal F[])
{
  const PetscInt  ns   = nc - 1;
  const PetscReal mu   = 1e-3;
  PetscReal       jsum = 0.0, cw = 0.0, ce = 0.0;

  for (PetscInt k = 0; k < ns; k++) {
    const PetscReal d = mu * (1.0 + 0.2 * k);

    cw += d * (u[k] - w[k]) / h;
    ce += d * (e[k] - u[k]) / h;
  }
  for (PetscInt k = 0; k < ns; k++) {
    const PetscReal d  = mu * (1.0 + 0.2 * k);
    const PetscReal Jw = -d * (u[k] - w[k]) / h + 0.5 * (u[k] + w[k]) * cw,
                    Je = -d * (e[k] - u[k]) / h + 0.5 * (e[k] + u[k]) * ce;

    F[k] = (u[k] - w[k]) / h + (Je - Jw) / h;
    jsum += (1.0 + 0.1 * k) * 0.5 * (Jw + Je);
  }
  F[ns] = (u[ns] - w[ns]) / h - mu * (e[ns] - 2.0 * u[ns] + w[ns]) / (h * h) + jsum * (e[ns] - w[ns]) / (2.0 * h);
  for (PetscInt r = 0; r + 1 < ns; r++) {
    const PetscReal a = PetscPowReal(10.0, (PetscReal)(r % 4)),
                    R = a *
                        (u[r] * PetscExpReal(4.0 * (1.0 - 1.0 / u[ns])) -
                         0.1 * u[r + 1] * PetscExpReal(5.0 * (1.0 - 1.0 / u[ns]))) *
                        (1.0 + 2.0 * u[(r + 2) % ns]);

    F[r] += R;
    F[r + 1] -= R;
    F[ns] -= 0.75 * R / ns;
  }
}

static inline PetscErrorCode FlameCreate(MPI_Comm comm, PetscInt np, PetscInt nc, PetscReal dt, Mat *A, Vec *b)
{
  const PetscReal h = 0.01, eps = PetscSqrtReal(PETSC_MACHINE_EPSILON);
  PetscInt        nlocal = PETSC_DECIDE, rstart, rend;
  PetscReal       s[3][FLAME_MAX], F[FLAME_MAX], G[FLAME_MAX];

  PetscFunctionBegin;
  PetscCheck(np > 0 && nc > 1 && nc <= FLAME_MAX && dt > 0.0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "The flame needs points, 2 to %d unknowns at each, a positive time step; got %" PetscInt_FMT
             ", %" PetscInt_FMT ", %g",
             FLAME_MAX, np, nc, (double)dt);
  PetscCall(PetscSplitOwnership(comm, &nlocal, &np));
  PetscCall(SystemCreate_Private(comm, nlocal * nc, np * nc, 3 * nc, A, b));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt i = rstart / nc; i < rend / nc; i++) {
    /* the states beyond the ends are given */
    for (PetscInt k = 0; k < 3; k++) FlameState_Private(nc, h * PetscMin(PetscMax(i + k - 1, 0), np - 1), s[k]);
    FlameResidual_Private(nc, h, s[0], s[1], s[2], F);
    for (PetscInt r = 0; r < nc; r++) PetscCall(VecSetValue(*b, i * nc + r, -F[r], INSERT_VALUES));
    for (PetscInt k = 0; k < 3; k++) {
      if (i + k - 1 < 0 || i + k - 1 >= np) continue;
      for (PetscInt c = 0; c < nc; c++) {
        const PetscReal old = s[k][c], step = eps * (PetscAbsReal(old) + 1e-2);

        s[k][c] += step;
        FlameResidual_Private(nc, h, s[0], s[1], s[2], G);
        for (PetscInt r = 0; r < nc; r++) {
          const PetscReal v = (G[r] - F[r]) / (s[k][c] - old) + (k == 1 && r == c ? 1.0 / dt : 0.0);

          PetscCall(MatSetValue(*A, i * nc + r, (i + k - 1) * nc + c, v, INSERT_VALUES));
        }
        s[k][c] = old;
      }
    }
  }
  PetscCall(SystemAssemble_Private(*A, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A plate heat exchanger: ns streams in alternate directions with ns - 1 plates between them, nx stations along it.
  Streams: w T' = sum of a (T_plate - T), upwind; plates: k T'' = sum of a (T - T_stream), a changing along the plate
  (fouling). Numbered by stations the half-bandwidth is 2 ns - 1; here rows and columns are shuffled by the same
  permutation.
*/
static inline PetscReal Shuffle_Private(PetscInt64 *state)
{
  *state = (*state * 1103515245 + 12345) & 0x7fffffff;
  return (PetscReal)*state / (PetscReal)0x80000000;
}

static inline PetscErrorCode ExchangerCreate(MPI_Comm comm, PetscInt nx, PetscInt ns, Mat *A)
{
  const PetscInt nu = 2 * ns - 1, n = nx * nu;
  PetscInt64     state = 1;
  PetscInt      *p, rstart, rend;
  Vec            b;

  PetscFunctionBegin;
  PetscCheck(nx > 0 && ns > 0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "The exchanger needs at least one station and one stream, got %" PetscInt_FMT ", %" PetscInt_FMT, nx, ns);
  PetscCall(PetscMalloc1(n, &p));
  for (PetscInt i = 0; i < n; i++) p[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt j = PetscMin((PetscInt)(Shuffle_Private(&state) * (i + 1)), i), t = p[i];

    p[i] = p[j];
    p[j] = t;
  }
  PetscCall(SystemCreate_Private(comm, PETSC_DECIDE, n, 5, A, &b));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i = k / nu, u = k % nu, row = p[k];
    /* to the left and right neighbour */
    const PetscReal a[2] = {1.0 + 0.5 * PetscSinReal(0.01 * i + u), 1.0 + 0.5 * PetscSinReal(0.01 * i + u + 1)};
    PetscReal       diag = 0.0;

    if (row < rstart || row >= rend) continue;
    for (PetscInt s = 0; s < 2; s++) {
      const PetscInt v = s ? u + 1 : u - 1;

      if (v < 0 || v >= nu) continue;
      diag += a[s];
      PetscCall(MatSetValue(*A, row, p[i * nu + v], -a[s], INSERT_VALUES));
    }
    if (u % 2 == 0) { /* stream: from the west in the even ones, from the east in the others */
      const PetscInt up = (u / 2) % 2 ? i + 1 : i - 1;

      diag += 20.0;
      if (up >= 0 && up < nx) PetscCall(MatSetValue(*A, row, p[up * nu + u], -20.0, INSERT_VALUES));
    } else {
      for (PetscInt s = -1; s < 2; s += 2) {
        if (i + s < 0 || i + s >= nx) continue;
        diag += 50.0;
        PetscCall(MatSetValue(*A, row, p[(i + s) * nu + u], -50.0, INSERT_VALUES));
      }
    }
    PetscCall(MatSetValue(*A, row, row, diag, INSERT_VALUES));
  }
  PetscCall(SystemAssemble_Private(*A, b));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
