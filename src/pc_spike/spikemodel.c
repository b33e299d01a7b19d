/* SPDX-License-Identifier: BSD-2-Clause */
/* spikemodel.c: the work of a band, and whether it is the right form of a matrix, beside sparse LU's */
#include "spikeimpl.h"

/*
  Work of a band with half-bandwidths k, for each row: the factorization, and so many applications, which move each
  value of the factors once
*/
PetscReal PCSpikeBandWork_Private(const PetscInt k[2], PetscReal applications)
{
  const PetscReal kl = (PetscReal)k[0], ku = (PetscReal)k[1];

  return 2 * kl * ku + 2 * applications * (1 + kl + ku);
}

/*
  Operations of nested dissection of a mesh whose numbering has half-bandwidth K. A plane mesh of n nodes has separators
  of min(K, sqrt(n)), a solid one separators of min(K, n^(2/3)) nodes, and their dense factorizations are most of the
  work: 10 s^3 for each of the largest pieces, which have s^2 and s^(3/2) nodes (George 1973; George and Liu 1981, ch.
  8)
*/
static PetscReal SpikeDissection_Private(PetscReal n, PetscReal K, PetscBool solid)
{
  const PetscReal s      = PetscMin(K, PetscPowReal(n, solid ? (PetscReal)2 / 3 : (PetscReal)0.5)),
                  pieces = PetscMax(n / PetscPowReal(s, solid ? (PetscReal)1.5 : (PetscReal)2), 1);

  return 10 * pieces * s * s * s;
}

/*
  Whether sparse LU would take far less work than the band: rows are nearly empty inside of it, and it takes ten times
  the work of a plane mesh's. w: operations of the band, of sparse LU of a plane mesh and of a solid one; share of the
  band that A fills. Collective
*/
static PetscErrorCode PCSpikeIsWrongTool_Private(PC pc, PetscBool *wrong, PetscReal w[4])
{
  const PC_Spike *s   = (const PC_Spike *)pc->data;
  const PetscBool cut = s->info.cut;
  const PetscReal kl = (PetscReal)(cut ? s->uncut[0] : s->info.kl), ku = (PetscReal)(cut ? s->uncut[1] : s->info.ku);
  PetscReal       n;
  MatInfo         info;

  PetscFunctionBegin;
  *wrong = PETSC_FALSE;
  w[0] = w[1] = w[2] = w[3] = 0.0;
  n                         = (PetscReal)pc->pmat->rmap->N;
  if (!(n > 0.0) || !(kl * ku > 0.0) || s->givenkl != PETSC_DECIDE) PetscFunctionReturn(PETSC_SUCCESS);
  w[0] = 2 * n * kl * ku;
  if (w[0] < SPIKE_WRONG_TOOL_LEAST || !pc->pmat->ops->getinfo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(pc->pmat, MAT_GLOBAL_SUM, &info));
  w[1]   = SpikeDissection_Private(n, PetscMax(kl, ku), PETSC_FALSE);
  w[2]   = SpikeDissection_Private(n, PetscMax(kl, ku), PETSC_TRUE);
  w[3]   = (PetscReal)info.nz_used / (n * (kl + ku + 1));
  *wrong = (PetscBool)(w[3] < SPIKE_WRONG_TOOL_SHARE && w[0] > SPIKE_WRONG_TOOL_RATIO * w[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Said once, when a band is chosen */
PetscErrorCode PCSpikeInfoWrongTool_Private(PC pc)
{
  const char *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool   wrong;
  PetscReal   w[4];

  PetscFunctionBegin;
  PetscCall(PCSpikeIsWrongTool_Private(pc, &wrong, w));
  if (wrong)
    PetscCall(
      PetscInfo(pc,
                "The matrix fills %.2g of its band, whose factors take %.2g operations; sparse LU of a mesh with "
                "such a band takes %.2g (plane) to %.2g (solid): try -%spc_type lu, ilu or gamg, or a narrow "
                "band as preconditioner, -%spc_spike_max_bandwidth\n",
                (double)w[3], (double)w[0], (double)w[1], (double)w[2], pre, pre));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeViewWrongTool_Private(PC pc, PetscViewer viewer)
{
  PetscBool wrong;
  PetscReal w[4];

  PetscFunctionBegin;
  PetscCall(PCSpikeIsWrongTool_Private(pc, &wrong, w));
  if (wrong)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  filled to %.2g by the matrix, %.2g operations: -pc_type lu may be faster\n"
                                     "    (sparse LU of a mesh with such a band %.2g, plane, to %.2g, solid)\n",
                                     (double)w[3], (double)w[0], (double)w[1], (double)w[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
