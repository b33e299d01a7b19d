/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedprecision.h: iterations whose products read a copy A~ = A + E of the matrix with fewer digits.

  Bytes of n in an iteration, with real numbers in double precision, k points, products by diagonals: 8 k, 4 k + 4 or
  2 k + 4 for the values, 16 for x and y of each product, and what head() of the method says for vectors, B = I, in
  IDR(4) merged and else plain:

                     7 points                      27 points
                     double  single  bf16          double  single  bf16
    BiCGStab         288     240     212  (0.74)   608     400     292  (0.48)
    CG, x lags       152     128     114  (0.75)   312     208     154  (0.49)
    IDR(4), product  227     187     173  (0.76)   387     267     213  (0.55)

  PCJACOBI reads its diagonal twice in an iteration of BiCGStab and CG, once in one of IDR(4): 8 bytes each time, 4
  beside a narrow copy (fuseddiagonal.h).

  The shadow vectors P of IDR(s) have 16 bits a real number (bf16) beside a narrow copy, whatever the precision of its
  values: 24 bytes less a product with s = 4. The shadow space is arbitrary, so that no digit is lost. G and U stay in
  PetscScalar: with fewer digits g - A u grows, which takes more iterations than it saves bytes (docs/open-points.md).

  The recurrences with A~ leave r, which is b - A x up to E times what x has moved since they were equal. Where ||r|| is
  at most a tenth of the largest ||r|| since then (single precision: 1e-4, until true norms show E), the true residual
  replaces it, and the method goes on with the directions that it has: no new start. [M. A. Clark, R. Babich, K. Barros,
  R. C. Brower, C. Rebbi: Solving lattice QCD systems of equations using mixed precision solvers on GPUs, 2010; H. A.
  van der Vorst, Q. Ye: Residual replacement strategies for Krylov subspace iterative methods for the convergence of
  true residuals, 2000]

  The host sees norms, late by an iteration or not: so a replacement that iteration i asks for is made after iteration
  i + 1, and the bits are the same.

  Convergence: the true residual itself has to be below the tolerance. Where it is not, it replaces the other one, the
  reason is taken back, and the method goes on.

  Values that lose no digit, as those of a stencil with small integers, need none of this: E = 0.

  PetscScalar again, by a new start from the true residual: where twice in a row the true norm has fallen by less than
  half from one replacement to the next, although that of the recurrence has; where there are more than twice as many
  replacements as the true norm has fallen by such factors, because the method does not stand them; where the method
  breaks down, diverges, or finds A~ indefinite; where claims are refuted again and again. Until A has other values no
  solve tries that precision again.
*/
#pragma once

#include "fused.h"

/*
  Whether the residual after iteration `it` is to be replaced, or a new start made: only where a period of the method
  ends, because inside of a cycle of IDR r is orthogonal to some of the shadow vectors
*/
static inline PetscBool KSPFusedIsDue(const KSPFused *f, PetscInt it)
{
  return (PetscBool)(f->product.rounds && f->run.update.due && it >= f->run.update.due &&
                     f->run.since % f->graph.period == 0);
}

/* Whether this reason of a step, in a solve with fewer digits, may be theirs alone; stuck: nothing since a start */
static inline PetscBool KSPFusedWearsOut(KSP ksp, int reason, PetscBool stuck)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  return (PetscBool)((f->product.rounds || f->factors.low) && ksp->its < ksp->max_it &&
                     ((reason == KSP_DIVERGED_NANORINF && f->factors.low) || reason == KSP_DIVERGED_BREAKDOWN ||
                      reason == KSP_DIVERGED_DTOL || reason == KSP_DIVERGED_INDEFINITE_MAT ||
                      reason == KSP_DIVERGED_INDEFINITE_PC || (reason == SPIKE_KRYLOV_RESTART && stuck)));
}

PETSC_INTERN const char *const KSPFusedPrecisionNames[]; /* as views and -info say them */

PETSC_INTERN PetscErrorCode KSPFusedSetNarrow(KSP);
PETSC_INTERN void           KSPFusedBeginUpdates(KSP, PetscReal norm);
PETSC_INTERN void           KSPFusedObserve(KSP, const SpikeKrylovPost *);
PETSC_INTERN PetscErrorCode KSPFusedUpdateResidual(KSP, PetscInt it);
PETSC_INTERN PetscErrorCode KSPFusedRefuteUpdate(KSP, PetscReal norm, PetscBool *again);
PETSC_INTERN PetscErrorCode KSPFusedResume(KSP, PetscInt launched);
PETSC_INTERN PetscErrorCode KSPFusedWiden(KSP);
