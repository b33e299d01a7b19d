/* SPDX-License-Identifier: BSD-2-Clause */
/* reduced.c: the host's reduced systems: their factors and their solves */
#include "host.h"
#include <petscblaslapack.h>

PetscErrorCode SpikeSmallGemm_Host(PetscBool trans, PetscInt m, PetscInt k, const PetscScalar *A, PetscScalar alpha,
                                   const PetscScalar *x, PetscCount ldx, PetscScalar beta, PetscScalar *y,
                                   PetscCount ldy, PetscInt nrhs)
{
  PetscBLASInt bm, bk, bn, lda, bx, by;

  PetscFunctionBegin;
  if (!(trans ? k : m) || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(trans ? k : m, &bm));
  PetscCall(PetscBLASIntCast(trans ? m : k, &bk));
  PetscCall(PetscBLASIntCast(PetscMax(m, 1), &lda));
  PetscCall(PetscBLASIntCast(nrhs, &bn));
  PetscCall(PetscBLASIntCast(PetscMax(ldx, 1), &bx));
  PetscCall(PetscBLASIntCast(PetscMax(ldy, 1), &by));
  PetscCallBLAS("BLASgemm", BLASgemm_(trans ? "T" : "N", "N", &bm, &bn, &bk, &alpha, A, &lda, x, &bx, &beta, y, &by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeReduced_Host(SpikeBand *s, PetscInt q0, PetscInt q1, SpikePivot *pivot)
{
  const PetscInt kl = s->kl, ku = s->ku;
  PetscBLASInt   n, info;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!ku) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(ku, &n));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (PetscInt q = q0; q < q1; q++) {
    PetscScalar *R     = s->dR + (PetscCount)q * ku * ku;
    PetscReal    scale = 1.0;

    if (!s->active[q]) continue;
    PetscCall(PetscArrayzero(R, (PetscCount)ku * ku));
    for (PetscInt i = 0; i < ku; i++) R[i + (PetscCount)i * ku] = 1.0;
    PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, ku, kl, s->dWt + (PetscCount)q * ku * kl, -1.0,
                                  s->dVb + (PetscCount)q * kl * ku, kl, 1.0, R, ku, ku));
    for (PetscCount i = 0; i < (PetscCount)ku * ku; i++) scale = PetscMax(scale, PetscAbsScalar(R[i]));
    PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&n, &n, R, &n, s->dpiv + (PetscCount)q * ku, &info));
    for (PetscInt i = 0; i < ku; i++) {
      PetscScalar    *u   = &R[i + (PetscCount)i * ku];
      const PetscReal abs = PetscAbsScalar(*u);

      if (abs > pivot->tol * scale && !PetscIsInfReal(abs)) continue;
      if (pivot->boost > 0.0 && abs <= pivot->tol * scale) {
        *u = abs > 0.0 ? *u * (pivot->boost * scale / abs) : (PetscScalar)(pivot->boost * scale);
        if (q > 0) pivot->nboost++; /* interface 0 is interface np of the rank before, which counts it */
      } else if (pivot->badrow < 0) {
        pivot->badrow   = q;
        pivot->badvalue = abs;
      }
    }
  }
  PetscCall(PetscFPTrapPop());
  PetscCall(PetscLogFlops((q1 - q0) * (2.0 * kl * ku * ku + 2.0 / 3.0 * ku * ku * ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  N: x_t <- R^-1 (g_t - Wt g_b), x_b <- g_b - Vb x_t
  T: z_t <- R^-T (u_t - Vb^T u_b), z_b <- u_b - Wt^T z_t       (the transpose of the same 2 x 2 block matrix)
*/
PetscErrorCode SpikeSolveTips_Host(SpikeBand *s, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs)
{
  const PetscInt   kl = s->kl, ku = s->ku;
  const PetscCount ldt = (PetscCount)(s->np + 1) * (kl + ku);
  PetscBLASInt     n, nr, ld, info;

  PetscFunctionBegin;
  if (!ku) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(ku, &n));
  PetscCall(PetscBLASIntCast(nrhs, &nr));
  PetscCall(PetscBLASIntCast(ldt, &ld));
  for (PetscInt q = q0; q < q1; q++) {
    PetscScalar       *tb = s->dtips + (PetscCount)q * (kl + ku), *tt = tb + kl;
    const PetscScalar *Wt = s->dWt + (PetscCount)q * ku * kl, *Vb = s->dVb + (PetscCount)q * kl * ku;

    if (!s->active[q]) continue;
    PetscCall(
      SpikeSmallGemm_Host(trans, trans ? kl : ku, trans ? ku : kl, trans ? Vb : Wt, -1.0, tb, ldt, 1.0, tt, ldt, nrhs));
    PetscCallBLAS("LAPACKgetrs", LAPACKgetrs_(trans ? "T" : "N", &n, &nr, s->dR + (PetscCount)q * ku * ku, &n,
                                              s->dpiv + (PetscCount)q * ku, tt, &ld, &info));
    PetscCall(
      SpikeSmallGemm_Host(trans, trans ? ku : kl, trans ? kl : ku, trans ? Wt : Vb, -1.0, tt, ldt, 1.0, tb, ldt, nrhs));
    PetscCall(PetscLogFlops(nrhs * (4.0 * kl * ku + 2.0 * ku * ku)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
