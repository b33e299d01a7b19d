/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborderoptions.c: the option of borders */
#include "spikeimpl.h"

static PetscErrorCode PCSpikeSetMaxBorder_Spike(PC pc, PetscInt max)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(max == PETSC_DECIDE || (max >= 0 && max <= SPIKE_BORDER_MOST), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "The largest border must be 0 to %d rows and columns, or PETSC_DECIDE, not %" PetscInt_FMT,
             SPIKE_BORDER_MOST, max);
  if (s->border.max != max) PetscCall(PCSpikeChanged_Private(pc));
  s->border.max = max;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetMaxBorder_Spike(PC pc, PetscInt *max)
{
  PetscFunctionBegin;
  *max = ((PC_Spike *)pc->data)->border.max;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetMaxBorder - How many rows, and columns of the same numbers, may be left out of the band and solved by a
  dense system

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner context
- max - the largest number, at most 64 and at most half of the rows; 0: no border; `PETSC_DECIDE`, the default: 64, and
        at most a quarter of the rows

  Options Database Key:
. -pc_spike_max_border max - the largest number

  Level: intermediate

  Notes:
  Few rows and columns can make a band as wide as the matrix: the corners of a periodic band, an arrowhead, an integral
  constraint, a boundary condition that reaches across, the supply net of a circuit. With them last the matrix is
  [B F; E G], with a band B, and

      S = G - E B^-1 F,   y = S^-1 (g - E B^-1 f),   x = B^-1 f - B^-1 F y

  solves for [f; g]. A setup solves for each column of F, and an application is one of the band and two products with
  as many columns. `PCSpikeInfo` and the view have the size of the border.

  The border is chosen in the first setup, on the host: rows and columns whose entries reach farthest in the natural
  ordering, or those with most entries, where a count of operations for a setup and ten applications says that it is
  less work than the band, in its best ordering, by a tenth at least. What the border leaves is matched and ordered as
  a matrix without one. A copy of it is kept, which each setup fills on the host. Periodic tridiagonal systems keep
  their rank-one updates.

  A periodic band of half-bandwidth K has a border of K rows, up to K = 64. Above, and where K rows are more than the
  largest border, it is reordered to a band that is two to three times as wide.

  Where B is singular, or nearly, though the matrix need not be, up to four more rows join the border, those of the zero
  pivots, each in a setup of its own; where that does not help, or there is no room, pivots are boosted as without a
  border. A zero pivot of S is boosted too, and counted.

  On several ranks rows of the border may belong to any of them, and a rank may have no other rows. All ranks choose
  alike: rows whose entries reach farthest in the natural ordering, such that each rank with rows of the band has as
  many as its half-bandwidth. Rows with most entries of a matrix that has to be reordered are not looked for there, nor
  is anything where an ordering is named, by which each rank orders its own rows. A setup sends the entries of the
  border's rows to the owners of their columns; an application has one reduction of as many numbers as the border has
  rows, over the host, for up to 16 right-hand sides at once, and all ranks solve the dense system. A `MATDIA` is
  searched on several ranks where its outermost diagonals have few rows.

  A border is not looked for with `PCSpikeSetBandwidth()` and with `PCSpikeSetDropoff()`.

  References:
  Chan and Resasco, Generalized deflated block-elimination, SIAM J. Numer. Anal. 23 (1986). Govaerts, Stable solvers and
  block elimination for bordered systems, SIAM J. Matrix Anal. Appl. 12 (1991).

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetMaxBorder()`, `PCSpikeSetMaxBandwidth()`, `PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeSetMaxBorder(PC pc, PetscInt max)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, max, 2);
  PetscTryMethod(pc, "PCSpikeSetMaxBorder_C", (PC, PetscInt), (pc, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMaxBorder - What `PCSpikeSetMaxBorder()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. max - the largest number of rows and columns of a border, or `PETSC_DECIDE`

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMaxBorder()`
@*/
PetscErrorCode PCSpikeGetMaxBorder(PC pc, PetscInt *max)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(max, 2);
  PetscUseMethod(pc, "PCSpikeGetMaxBorder_C", (PC, PetscInt *), (pc, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBorderSetFromOptions_Private(PC pc, PetscOptionItems PetscOptionsObject)
{
  PetscInt  max = ((PC_Spike *)pc->data)->border.max;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-pc_spike_max_border", "Rows and columns that may be solved by a dense system",
                            "PCSpikeSetMaxBorder", max, &max, &set));
  if (set) PetscCall(PCSpikeSetMaxBorder(pc, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeBorderMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetMaxBorder_C", PCSpikeSetMaxBorder_Spike);
  SpikeCompose("PCSpikeGetMaxBorder_C", PCSpikeGetMaxBorder_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
