/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeapply.c: PCApply of PCSPIKE, plain and transposed, for one and many right-hand sides */
#include "spikeimpl.h"
#include "common/petsccompat.h"

static PetscErrorCode SpikeSweep_Private(PC pc, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1,
                                         PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                         PetscCount ldx)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_LAST_PARTITION) && p1 == s->band.np) p1--;
  if (SpikeFaulty(SPIKE_FAULT_NOT_TRANSPOSED)) trans = PETSC_FALSE;
  if (p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Sweep, pc, 0, 0, 0));
  PetscCall((*s->band.k->sweep)(&s->band, trans, part, p0, p1, nrhs, b, ldb, x, ldx));
  PetscCall(PetscLogEventEnd(PC_Spike_Sweep, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeSolveTips_Private(PC pc, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_NO_REDUCED) && q0 <= 1) q0++;
  if (q0 >= q1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscCall((*s->band.k->solvetips)(&s->band, trans, q0, q1, nrhs));
  PetscCall(PetscLogEventEnd(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCorrect_Private(PC pc, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs,
                                           PetscScalar *x, PetscCount ldx)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_NO_CORRECTION) && p1 == s->band.np) p1--;
  if (p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Correct, pc, 0, 0, 0));
  PetscCall((*s->band.k->correct)(&s->band, trans, p0, p1, nrhs, x, ldx));
  PetscCall(PetscLogEventEnd(PC_Spike_Correct, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x <- M^-1 b,  M = D S,  S the spike matrix with its truncated reduced system:

      g = D^-1 b;   [x_b; x_t] = [I Vb; Wt I]^-1 [g_b; g_t] at each interface;   x = g - D^-1 [C x_b; 0; B x_t]

  and for M^-T the same steps with h = D^-T b, tips C^T h_top and B^T h_bottom, the reduced systems transposed, and x =
  h - D^-T [z_t; 0; z_b].

  Where a backend splits sweeps, it sweeps the partitions at the ends of a rank first. Their tips travel while the
  others are swept. With one partition the tip at the bottom leaves in the middle of its backward sweep. A device takes
  as long for one partition as for all, and does not split them: all are swept together. While the tips travel by MPI,
  partitions that need no tip of another rank are corrected. Where tips travel from device to device, which takes less
  time than another launch, everything is corrected after they have arrived.
*/
PetscErrorCode PCSpikeSolve_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                    PetscScalar *x, PetscCount ldx)
{
  PC_Spike      *s  = (PC_Spike *)pc->data;
  const PetscInt np = s->band.np;
  const PetscInt p0 = s->ex.left != MPI_PROC_NULL ? 1 : 0; /* partitions that wait for nobody: p0 <= p < p1 */
  const PetscInt p1 = s->ex.right != MPI_PROC_NULL ? np - 1 : np;

  PetscFunctionBegin;
  if (s->band.full) {
    PetscCall(PCSpikeFullSolve_Private(pc, trans, nrhs, b, ldb, x, ldx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (p0 == 0 && p1 == np) { /* all interfaces are inside the rank */
    PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b, ldb, x, ldx));
    if (s->band.coupled) {
      PetscCall(SpikeSolveTips_Private(pc, trans, 1, np, nrhs));
      PetscCall(SpikeCorrect_Private(pc, trans, 0, np, nrhs, x, ldx));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeExchangeBegin_Private(pc, trans, nrhs));
  if (!s->band.k->splits) {
    PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_TRUE, nrhs));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_FALSE, nrhs));
    PetscCall(PCSpikeExchangeSent_Private(pc, trans, nrhs));
    if (s->ex.link) {
      PetscCall(PCSpikeExchangeEnd_Private(pc, trans, nrhs));
      PetscCall(SpikeSolveTips_Private(pc, trans, 0, np + 1, nrhs));
      PetscCall(SpikeCorrect_Private(pc, trans, 0, np, nrhs, x, ldx));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(SpikeSolveTips_Private(pc, trans, 1, np, nrhs));
    PetscCall(SpikeCorrect_Private(pc, trans, p0, p1, nrhs, x, ldx));
  } else if (np == 1) {
    PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_HEAD, 0, 1, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_FALSE, nrhs));
    PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_TAIL, 0, 1, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_TRUE, nrhs));
    PetscCall(PCSpikeExchangeSent_Private(pc, trans, nrhs));
  } else {
    if (p0) PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_ALL, 0, 1, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_TRUE, nrhs));
    if (p1 < np) PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_ALL, np - 1, np, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeExchangeSend_Private(pc, trans, PETSC_FALSE, nrhs));
    PetscCall(PCSpikeExchangeSent_Private(pc, trans, nrhs));
    PetscCall(SpikeSweep_Private(pc, trans, SPIKE_SWEEP_ALL, p0, p1, nrhs, b, ldb, x, ldx));
    PetscCall(SpikeSolveTips_Private(pc, trans, 1, np, nrhs));
    PetscCall(SpikeCorrect_Private(pc, trans, p0, p1, nrhs, x, ldx));
  }
  PetscCall(PCSpikeExchangeEnd_Private(pc, trans, nrhs));
  PetscCall(SpikeSolveTips_Private(pc, trans, 0, 1, nrhs));
  PetscCall(SpikeSolveTips_Private(pc, trans, np, np + 1, nrhs));
  if (p0) PetscCall(SpikeCorrect_Private(pc, trans, 0, 1, nrhs, x, ldx));
  if (p1 < np && (np > 1 || !p0)) PetscCall(SpikeCorrect_Private(pc, trans, np - 1, np, nrhs, x, ldx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same with the rank-one updates of periodic systems, and reordering and matching around it: A^-1 = C B^-1 P R and
  A^-T = R P^T B^-T C
*/
PetscErrorCode PCSpikeSolvePermuted_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                            PetscScalar *x, PetscCount ldx)
{
  PC_Spike              *s     = (PC_Spike *)pc->data;
  const PetscBool        order = (PetscBool)!SpikeFaulty(SPIKE_FAULT_NOT_PERMUTED);
  const PCSpikeMatching *m     = &s->matching;
  const PetscInt        *row = m->active ? m->place : s->dnewrow, *col = s->dnewrow;

  PetscFunctionBegin;
  if (s->permuted && order) {
    PetscCall((*s->band.k->permute)(&s->band, PETSC_FALSE, trans ? col : row, trans ? m->dc : m->dr, nrhs, b, ldb,
                                    s->permuted, s->band.n));
    PetscCall(PCSpikeSolve_Private(pc, trans, nrhs, s->permuted, s->band.n, s->permuted, s->band.n));
    PetscCall(PCSpikePeriodicUpdate_Private(pc, trans, nrhs, s->permuted, s->band.n));
    PetscCall((*s->band.k->permute)(&s->band, PETSC_TRUE, trans ? row : col, trans ? m->dr : m->dc, nrhs, s->permuted,
                                    s->band.n, x, ldx));
  } else {
    PetscCall(PCSpikeSolve_Private(pc, trans, nrhs, b, ldb, x, ldx));
    if (!SpikeFaulty(SPIKE_FAULT_NOT_PERIODIC)) PetscCall(PCSpikePeriodicUpdate_Private(pc, trans, nrhs, x, ldx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on PETSc's stream, device time logged */
static PetscErrorCode PCSpikeSolveReordered_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                                    PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall((*s->band.k->begin)(&s->band));
  PetscCall(PCSpikeSolveBordered_Private(pc, trans, nrhs, b, ldb, x, ldx));
  PetscCall((*s->band.k->end)(&s->band));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  b and x where their vectors have them; what is not in the backend's memory goes through a column there (PCBJACOBI with
  several blocks hands vectors on the host to the blocks of a matrix on the device). The copies are in the log.
*/
static PetscErrorCode PCSpikeSolveStaged_Private(PC pc, PetscBool trans, const PetscScalar *b, PetscMemType bmem,
                                                 PetscScalar *x, PetscMemType xmem)
{
  PC_Spike       *s       = (PC_Spike *)pc->data;
  SpikeBand      *band    = &s->band;
  const PetscInt  n       = PCSpikeLocalRows_Private(s);
  const size_t    bytes   = n * sizeof(PetscScalar);
  const PetscBool bhere   = PCFactoredIsHere_Private(band->k->memtype, bmem),
                  xhere   = PCFactoredIsHere_Private(band->k->memtype, xmem);
  const PetscScalar *from = b;
  PetscScalar       *to   = x;

  PetscFunctionBegin;
  if ((!bhere || !xhere) && !s->stage) PetscCall((*band->k->alloc)(band, PetscMax(bytes, 1), (void **)&s->stage));
  if (!bhere) {
    PetscCall((*band->k->copy2d)(band, PETSC_TRUE, PETSC_FALSE, s->stage, bytes, b, bytes, bytes, 1));
    from = s->stage;
  }
  if (!xhere) to = s->stage;
  PetscCall(PCSpikeSolveReordered_Private(pc, trans, 1, from, n, to, n));
  if (!xhere) PetscCall((*band->k->copy2d)(band, PETSC_FALSE, PETSC_TRUE, x, bytes, s->stage, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work space for that many columns at a time, made by the first call and kept */
PetscErrorCode PCSpikeReserve_Private(PC pc, PetscInt batch)
{
  PC_Spike    *s        = (PC_Spike *)pc->data;
  PetscScalar *permuted = NULL;

  PetscFunctionBegin;
  if (batch <= s->band.maxrhs) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->permuted) {
    PetscCall((*s->band.k->alloc)(&s->band, (size_t)batch * s->band.n * sizeof(PetscScalar), (void **)&permuted));
    PetscCall((*s->band.k->release)(&s->band, (void **)&s->permuted));
    s->permuted = permuted;
  }
  s->shape++;
  PetscCall(PCSpikeExchangeReserve_Private(pc, batch));
  PetscCall(PCSpikePeriodicReserve_Private(pc, batch));
  PetscCall(PCSpikeBorderReserve_Private(pc, batch));
  PetscCall((*s->band.k->reserve)(&s->band, batch)); /* last: maxrhs says what all of the space holds */
  PetscCall(PCSpikeBytes_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns in batches where both matrices are in the backend's memory, else one after the other through a column there
*/
static PetscErrorCode PCSpikeSolveColumns_Private(PC pc, PetscBool trans, PetscInt ncols, const PetscScalar *b,
                                                  PetscInt ldb, PetscMemType bmem, PetscScalar *x, PetscInt ldx,
                                                  PetscMemType xmem)
{
  PC_Spike       *s     = (PC_Spike *)pc->data;
  const PetscBool here  = (PetscBool)(PCFactoredIsHere_Private(s->band.k->memtype, bmem) &&
                                     PCFactoredIsHere_Private(s->band.k->memtype, xmem));
  const PetscInt  batch = here ? PetscMin(ncols, SPIKE_MAT_APPLY_BATCH) : 1;

  PetscFunctionBegin;
  PetscCall(PCSpikeReserve_Private(pc, batch));
  for (PetscInt c = 0; c < ncols; c += batch) {
    const PetscScalar *bc = b + (PetscCount)c * ldb;
    PetscScalar       *xc = x + (PetscCount)c * ldx;

    if (here) PetscCall(PCSpikeSolveReordered_Private(pc, trans, PetscMin(batch, ncols - c), bc, ldb, xc, ldx));
    else PetscCall(PCSpikeSolveStaged_Private(pc, trans, bc, bmem, xc, xmem));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscMemType SpikeMemType_Private(PC pc)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  return s->band.k ? s->band.k->memtype : PETSC_MEMTYPE_HOST;
}

static PetscErrorCode PCSpikeApplyHere_Private(PC pc, PetscBool trans, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCFactoredApply_Private(pc, SpikeMemType_Private(pc), PCSpikeSolveColumns_Private, trans, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeApply_Private(PC pc, PetscBool trans, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (((PC_Spike *)pc->data)->gather.A)
    PetscCall(PCSpikeGatherApply_Private(pc, PCSpikeApplyHere_Private, trans, x, y));
  else PetscCall(PCSpikeApplyHere_Private(pc, trans, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where rows have to go to other ranks, column by column */
static PetscErrorCode PCSpikeMatApplyColumns_Private(PC pc, PetscBool trans, Mat X, Mat Y)
{
  PetscInt ncols;
  Vec      x, y;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &ncols));
  for (PetscInt c = 0; c < ncols; c++) {
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, c, &y));
    PetscCall(PCSpikeApply_Private(pc, trans, x, y));
    PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
  }
  PetscCall(MatFlag(Y, ((PC_Spike *)pc->data)->numeric ? 0 : 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeMatApply_Private(PC pc, PetscBool trans, Mat X, Mat Y)
{
  PetscFunctionBegin;
  /* KSPMatSolve() by KSPPREONLY comes here without a word before, where spikematsolve.c does not see it */
  if (!((PC_Spike *)pc->data)->refine.solving) PetscCall(PCSpikeRefineWhole_Private(pc, PETSC_TRUE));
  if (!((PC_Spike *)pc->data)->refine.armed) PetscCall(PCSpikeRefineRestore_Private(pc, NULL));
  if (((PC_Spike *)pc->data)->gather.A) PetscCall(PCSpikeMatApplyColumns_Private(pc, trans, X, Y));
  else PetscCall(PCFactoredMatApply_Private(pc, SpikeMemType_Private(pc), PCSpikeSolveColumns_Private, trans, X, Y));
  PetscCall(PCSpikeRefineMat_Private(pc, trans, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_Spike(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (!((PC_Spike *)pc->data)->refine.armed) PetscCall(PCSpikeRefineRestore_Private(pc, NULL));
  PetscCall(PCSpikeApply_Private(pc, PETSC_FALSE, x, y));
  PetscCall(PCSpikeRefineVec_Private(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_Spike(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (!((PC_Spike *)pc->data)->refine.armed) PetscCall(PCSpikeRefineRestore_Private(pc, NULL));
  PetscCall(PCSpikeApply_Private(pc, PETSC_TRUE, x, y));
  PetscCall(PCSpikeRefineVec_Private(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApply_Spike(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeMatApply_Private(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApplyTranspose_Spike(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeMatApply_Private(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
