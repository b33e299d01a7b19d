/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.c: the host backend of stencil.h; lines of points with one unknown are in template.h */
#include "kernels/stencil/stencil.h"
#include "kernels/common/host/isa.h"

/* Whether points of line j, k reach one that exists by offset s; the clipping along the line is not looked at */
static inline PetscBool SpikeStencilReaches(const SpikeStencil *S, PetscInt s, PetscInt j, PetscInt k)
{
  const PetscInt *o = S->offset + 3 * s;

  return (PetscBool)(j + o[1] >= S->lo[1] && j + o[1] < S->hi[1] && k + o[2] >= S->lo[2] && k + o[2] < S->hi[2]);
}

/* Where the values of point (i, j, k) are; ghost is NULL where x has all points */
static inline const PetscScalar *SpikeStencilAt(const SpikeStencil *S, PetscInt i, PetscInt j, PetscInt k,
                                                const PetscScalar *x, PetscInt sj, PetscInt sk,
                                                const PetscScalar *ghost)
{
  const int b = ghost ? SpikeStencilSlab(S, i, j, k) : 6;

  return b == 6 ? x + (i + (PetscCount)j * sj + (PetscCount)k * sk) * S->dof
                : ghost + (S->shell.first[b] + i + j * S->shell.sj[b] + k * S->shell.sk[b]) * S->dof;
}

/*
  One unknown: the inside of the line, where all points exist that the line reaches at all, each in one array, and its
  ends point by point
*/
static void SpikeStencilScalarLine(const SpikeStencil *S, PetscInt j, PetscInt k, PetscInt begin, PetscInt end,
                                   const PetscScalar *x, PetscInt sj, PetscInt sk, const PetscScalar *ghost,
                                   const PetscScalar *z, PetscScalar *y)
{
  const SpikeStencilLine line = SpikeISAOf(SpikeStencilLine);
  const PetscInt         l = k * S->size[1] + j, p = l * S->size[0];
  const PetscScalar     *coef[SPIKE_STENCIL_MOST], *one[SPIKE_STENCIL_MOST], *from[SPIKE_STENCIL_MOST],
    *few[SPIKE_STENCIL_MOST];
  PetscInt which[SPIKE_STENCIL_MOST], n = 0, inbegin = begin, inend = end;

  for (PetscInt s = 0; s < S->count; s++) {
    const PetscInt *o = S->offset + 3 * s;

    if (!SpikeStencilReaches(S, s, j, k)) continue;
    coef[n]    = S->coef + SpikeStencilCoef(S, s, 0, 0, l);
    from[n]    = SpikeStencilAt(S, 0, j + o[1], k + o[2], x, sj, sk, ghost) + o[0];
    which[n++] = s;
    SpikeStencilClip(S, 0, o[0], &inbegin, &inend);
    if (ghost && SpikeStencilSlab(S, 0, j + o[1], k + o[2]) == 6) {
      inbegin = PetscMax(inbegin, -o[0]);
      inend   = PetscMax(inbegin, PetscMin(inend, S->size[0] - o[0]));
    }
  }
  inbegin = PetscMin(inbegin, end);
  inend   = PetscMax(inbegin, PetscMin(inend, end));
  y += p;
  if (z) z += p;
  for (PetscInt i = begin; i < end; i++) {
    PetscInt m = 0;

    if (i == inbegin && inend > inbegin) {
      (*line)(n, coef, S->constant, from, inbegin, inend, z, y);
      i = inend - 1;
      continue;
    }
    for (PetscInt s = 0; s < n; s++) {
      const PetscInt *o = S->offset + 3 * which[s];

      if (i + o[0] < S->lo[0] || i + o[0] >= S->hi[0]) continue;
      one[m]   = coef[s];
      few[m++] = SpikeStencilAt(S, i + o[0], j + o[1], k + o[2], x, sj, sk, ghost) - i;
    }
    (*line)(m, one, S->constant, few, i, i + 1, z, y);
  }
}

static void SpikeStencilBlockLine(const SpikeStencil *S, PetscInt j, PetscInt k, PetscInt begin, PetscInt end,
                                  const PetscScalar *x, PetscInt sj, PetscInt sk, const PetscScalar *ghost,
                                  const PetscScalar *z, PetscScalar *y)
{
  const PetscInt dof = S->dof, l = k * S->size[1] + j, row = l * S->size[0], stride = SpikeStencilStride(S);

  for (PetscInt i = begin; i < end; i++)
    for (PetscInt c = 0; c < dof; c++)
      y[(PetscCount)(row + i) * dof + c] = z ? z[(PetscCount)(row + i) * dof + c] : (PetscScalar)0.0;
  for (PetscInt s = 0; s < S->count; s++) {
    const PetscInt *o     = S->offset + 3 * s;
    PetscInt        first = begin, last = end;

    if (!SpikeStencilReaches(S, s, j, k)) continue;
    SpikeStencilClip(S, 0, o[0], &first, &last);
    for (PetscInt i = first; i < last; i++) {
      const PetscScalar *from = SpikeStencilAt(S, i + o[0], j + o[1], k + o[2], x, sj, sk, ghost);
      PetscScalar       *to   = y + (PetscCount)(row + i) * dof;

      for (PetscInt c = 0; c < dof; c++)
        for (PetscInt e = 0; e < dof; e++)
          to[c] += S->coef[SpikeStencilCoef(S, s, c, e, l) + (PetscCount)i * stride] * from[e];
    }
  }
}

static void SpikeStencilBox(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3], const PetscScalar *x,
                            PetscInt sj, PetscInt sk, const PetscScalar *ghost, const PetscScalar *z, PetscScalar *y)
{
  for (PetscInt k = begin[2]; k < end[2]; k++)
    for (PetscInt j = begin[1]; j < end[1]; j++) {
      if (S->dof == 1) SpikeStencilScalarLine(S, j, k, begin[0], end[0], x, sj, sk, ghost, z, y);
      else SpikeStencilBlockLine(S, j, k, begin[0], end[0], x, sj, sk, ghost, z, y);
    }
}

static PetscErrorCode SpikeStencilMult_Host(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3],
                                            const PetscScalar *x, PetscInt sj, PetscInt sk, const PetscScalar *z,
                                            PetscScalar *y)
{
  PetscFunctionBegin;
  SpikeStencilBox(S, begin, end, x, sj, sk, NULL, z, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void SpikeStencilMultGhost_Host(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3],
                                const PetscScalar *x, const PetscScalar *ghost, PetscScalar *y)
{
  SpikeStencilBox(S, begin, end, x, S->size[0], S->size[0] * S->size[1], ghost, NULL, y);
}

static PetscErrorCode SpikeStencilMultEnds_Host(const SpikeStencil *S, const PetscScalar *x, const PetscScalar *ghost,
                                                const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(S, b, begin, end);
    SpikeStencilBox(S, begin, end, x, S->size[0], S->size[0] * S->size[1], ghost, z, y);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilPack_Host(const SpikeStencil *S, PetscInt n, const PetscInt which[],
                                            const PetscScalar *x, PetscScalar *message)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < n; t++)
    for (PetscInt c = 0; c < S->dof; c++) message[(PetscCount)t * S->dof + c] = x[(PetscCount)which[t] * S->dof + c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilUnpack_Host(const SpikeStencil *S, PetscInt n, const PetscInt to[],
                                              const PetscInt from[], const PetscScalar *x, const PetscScalar *arrived,
                                              PetscScalar *ghost)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < n; t++)
    for (PetscInt c = 0; c < S->dof; c++)
      ghost[(PetscCount)to[t] * S->dof + c] = from[t] < 0 ? x[(-1 - (PetscCount)from[t]) * S->dof + c]
                                                          : arrived[(PetscCount)from[t] * S->dof + c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilMultTranspose_Host(const SpikeStencil *S, PetscBool conjugate, const PetscScalar *x,
                                                     PetscScalar *y, PetscInt sj, PetscInt sk)
{
  const PetscInt dof = S->dof, stride = SpikeStencilStride(S);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < S->size[2]; k++)
    for (PetscInt j = 0; j < S->size[1]; j++)
      for (PetscInt s = 0; s < S->count; s++) {
        const PetscInt *o = S->offset + 3 * s, l = k * S->size[1] + j, row = l * S->size[0];
        PetscInt        first = 0, last = S->size[0];

        if (!SpikeStencilReaches(S, s, j, k)) continue;
        SpikeStencilClip(S, 0, o[0], &first, &last);
        for (PetscInt i = first; i < last; i++) {
          const PetscScalar *from = x + (PetscCount)(row + i) * dof;
          PetscScalar       *to   = y +
                            ((PetscCount)(i + o[0]) + (PetscCount)(j + o[1]) * sj + (PetscCount)(k + o[2]) * sk) * dof;

          for (PetscInt e = 0; e < dof; e++)
            for (PetscInt c = 0; c < dof; c++) {
              const PetscScalar a = S->coef[SpikeStencilCoef(S, s, c, e, l) + (PetscCount)i * stride];

              to[e] += (conjugate ? PetscConj(a) : a) * from[c];
            }
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilDiagonal_Host(const SpikeStencil *S, PetscInt s, PetscScalar *d)
{
  const PetscInt lines = S->size[1] * S->size[2];

  PetscFunctionBegin;
  for (PetscInt l = 0; l < lines; l++)
    for (PetscInt i = 0; i < S->size[0]; i++)
      for (PetscInt c = 0; c < S->dof; c++)
        *d++ = S->coef[SpikeStencilCoef(S, s, c, c, l) + (PetscCount)i * SpikeStencilStride(S)];
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeStencilKernels SpikeStencilKernels_Host = {
  .name          = "host",
  .memtype       = PETSC_MEMTYPE_HOST,
  .mult          = SpikeStencilMult_Host,
  .multtranspose = SpikeStencilMultTranspose_Host,
  .diagonal      = SpikeStencilDiagonal_Host,
  .multends      = SpikeStencilMultEnds_Host,
  .pack          = SpikeStencilPack_Host,
  .unpack        = SpikeStencilUnpack_Host,
};
