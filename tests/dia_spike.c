/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE with the diagonals of MATDIA: bit by bit what it is with MATAIJ, without a conversion.\n\n";

#include "diacase.h"
#include "eventcount.h"

typedef enum {
  NEVER,  /* the diagonals tell everything */
  ONCE,   /* entries are looked at one by one, the band comes from the diagonals all the same */
  ALWAYS, /* systems that are filled from CSR */
  /*
    Small pivots that a trial does not make better: one of its ways is one partition on one rank, whose rows come there
    as AIJ. Where that way is taken each setup copies new values into the same matrix, which is a MatConvert() too
  */
  GATHERED
} Conversions;

typedef struct {
  DiaCase     c;
  const char *options;
  Conversions one, more; /* on one rank, on several */
} SpikeCase;

static const SpikeCase cases[] =
  {{{"nothing", 0, 0, 1, {0}, 0}, "", NEVER, NEVER},
   {{"one row", 1, 1, 1, {0}, 0}, "", NEVER, NEVER},
   {{"diagonal", 130, 130, 1, {0}, 0}, "", NEVER, NEVER},
   {{"two rows", 2, 2, 2, {-1, 0}, 0}, "", NEVER, NEVER},
   {{"tridiagonal", 165, 165, 3, {-1, 0, 1}, 0}, "", NEVER, NEVER},
   {{"tridiagonal, single", 165, 165, 3, {-1, 0, 1}, 0}, "-pc_spike_precision single", NEVER, NEVER},
   {{"below and above", 257, 257, 4, {-3, -1, 0, 2}, 3}, "-pc_spike_mat_ordering_type natural", NEVER, NEVER},
   {{"one far", 257, 257, 3, {-2, 0, 1}, 0}, "-pc_spike_mat_ordering_type natural", ONCE, ONCE},
   {{"full band", 333, 333, 7, {-3, -2, -1, 0, 1, 2, 3}, 0}, "", NEVER, NEVER},
   {{"5 points", 400, 400, 5, {-20, -1, 0, 1, 20}, 0}, "-pc_spike_mat_ordering_type natural", NEVER, NEVER},
   {{"5 points, ordering", 399, 399, 5, {-20, -1, 0, 1, 20}, 0}, "", ONCE, NEVER},
   {{"8 points, 3 partitions", 391, 391, 8, {-21, -20, -19, 0, 1, 19, 20, 21}, 6},
    "-pc_spike_local_partitions 3 -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"9 points, block", 391, 391, 9, {-21, -20, -19, -1, 0, 1, 19, 20, 21}, 0},
    "-pc_spike_local_partitions 7 -pc_spike_type block -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"8 points, cut", 391, 391, 8, {-21, -20, -19, 0, 1, 19, 20, 21}, 6},
    "-pc_spike_bandwidth 20 -pc_spike_local_partitions 2",
    NEVER,
    NEVER},
   {{"5 points, dropped", 400, 400, 5, {-20, -2, 0, 2, 20}, 0},
    "-pc_spike_dropoff 0.4 -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"5 points, tridiagonal part", 400, 400, 5, {-20, -1, 0, 1, 20}, 0}, "-pc_spike_bandwidth 1", NEVER, NEVER},
   {{"above only", 230, 230, 4, {0, 1, 2, 40}, 3}, "-pc_spike_mat_ordering_type natural", NEVER, NEVER},
   {{"no main diagonal", 150, 150, 2, {-3, 2}, 0}, "-pc_spike_mat_ordering_type natural", NEVER, GATHERED},
   {{"wide, block", 333, 333, 6, {-200, -37, -5, 0, 1, 128}, 6},
    "-pc_spike_type block -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"wide", 1000, 1000, 6, {-70, -37, -5, 0, 1, 68}, 6}, "-pc_spike_mat_ordering_type natural", NEVER, NEVER},
   {{"single", 511, 511, 5, {-33, -7, 0, 3, 31}, 0},
    "-pc_spike_precision single -pc_spike_local_partitions 2 -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"bf16", 511, 511, 5, {-33, -7, 0, 3, 31}, 0},
    "-pc_spike_precision bf16 -pc_spike_mat_ordering_type natural",
    NEVER,
    NEVER},
   {{"periodic", 260, 260, 5, {-259, -1, 0, 1, 259}, 0}, "", ALWAYS, ALWAYS},
   {{"long", 4099, 4099, 6, {-11, -10, -1, 0, 9, 10}, 0}, "-pc_spike_mat_ordering_type natural", NEVER, NEVER}};

static PetscLogDouble TestMoved(void)
{
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  return petsc_ctog_sz + petsc_gtoc_sz;
#else
  return 0.0;
#endif
}

/*
  Entries of both matrices, in the same places: the main diagonal so large that factors exist, every 7th entry of the
  others zero, those far out `outer` times as large
*/
static PetscErrorCode SetValues(const DiaCase *c, PetscInt seed, PetscReal outer, Mat A, Mat B)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt d = 0; d < c->count; d++) {
      PetscScalar v = c->offset[d] ? DiaEntry(c, seed, i, d) : 9.0 + SpikeTestScalar(seed, i, i);

      if (!DiaHas(c, i, d)) continue;
      if (c->offset[d] && (d == 0 || d == c->count - 1)) v *= outer;
      PetscCall(MatSetValue(A, i, i + c->offset[d], v, INSERT_VALUES));
      PetscCall(MatSetValue(B, i, i + c->offset[d], v, INSERT_VALUES));
    }
  }
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatAssemblyBegin(k ? B : A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(k ? B : A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers, not only nearly; not a number on both sides is the same too */
static PetscErrorCode SameBits(Vec x, Vec y, const char what[], const char where[])
{
  const PetscScalar *xa, *ya;
  PetscInt           n, differ = -1;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n && differ < 0; i++)
    if (xa[i] != ya[i] && !(PetscIsInfOrNanScalar(xa[i]) && PetscIsInfOrNanScalar(ya[i]))) differ = i;
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(SpikeTestCheck((PetscBool)(differ < 0), "%s: %s differs at local row %" PetscInt_FMT, where, what, differ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether there were as many conversions as expected in setup k, by what there was before and is now: a refill of
  gathered rows that fails has its own before those of the setup from scratch
*/
static PetscBool Expected(Conversions expect, PetscInt conversions, PetscInt k, const PCSpikeInfo *before,
                          const PCSpikeInfo *now)
{
  const PetscInt was = k && before->partitions == 1, is = now->partitions == 1;

  if (!PetscDefined(USE_LOG)) return PETSC_TRUE;
  if (expect == ALWAYS || (expect == ONCE && !k)) return (PetscBool)(conversions > 0);
  if (expect == GATHERED && now->rebuilds > before->rebuilds) return (PetscBool)(conversions <= 1 + was);
  return (PetscBool)(conversions == (expect == GATHERED ? is : 0));
}

/* Both preconditioners for the present values. *conversions of the one with diagonals */
static PetscErrorCode Compare(const SpikeCase *s, PC pa, PC pb, PetscInt *conversions, PetscLogDouble *moved,
                              const char where[])
{
  PCSpikeInfo    a, b;
  PCFailedReason reason[2];
  Mat            A;
  Vec            r, x, y;
  PetscInt       before;

  PetscFunctionBegin;
  PetscCall(SpikeTestEventCount("MatConvert", &before));
  *moved = -TestMoved();
  PetscCall(PCSetUp(pa));
  PetscCall(SpikeTestEventCount("MatConvert", conversions));
  *conversions -= before;
  *moved += TestMoved();
  PetscCall(PCSetUp(pb));
  PetscCall(PCGetFailedReason(pa, &reason[0]));
  PetscCall(PCGetFailedReason(pb, &reason[1]));
  PetscCall(SpikeTestCheck((PetscBool)(reason[0] == reason[1]), "%s: failed for reason %d, with AIJ %d", where,
                           (int)reason[0], (int)reason[1]));
  PetscCall(SpikeTestCheck((PetscBool)(!reason[0] || !strcmp(s->c.name, "no main diagonal")),
                           "%s: failed for reason %d", where, (int)reason[0]));
  PetscCall(PCSpikeGetInfo(pa, &a));
  PetscCall(PCSpikeGetInfo(pb, &b));
  PetscCall(SpikeTestCheck((PetscBool)(a.kl == b.kl && a.ku == b.ku && a.natural_kl == b.natural_kl &&
                                       a.natural_ku == b.natural_ku),
                           "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " of %" PetscInt_FMT ",%" PetscInt_FMT
                           ", with AIJ %" PetscInt_FMT ",%" PetscInt_FMT " of %" PetscInt_FMT ",%" PetscInt_FMT,
                           where, a.kl, a.ku, a.natural_kl, a.natural_ku, b.kl, b.ku, b.natural_kl, b.natural_ku));
  PetscCall(SpikeTestCheck((PetscBool)(a.partitions == b.partitions && a.reordered == b.reordered &&
                                       a.boosted == b.boosted && !strcmp(a.backend, b.backend)),
                           "%s: %" PetscInt_FMT " partitions, with AIJ %" PetscInt_FMT
                           ", or another ordering, or backend %s, with AIJ %s",
                           where, a.partitions, b.partitions, a.backend, b.backend));
  PetscCall(SpikeTestCheck((PetscBool)(a.rebuilds == b.rebuilds && a.refills == b.refills),
                           "%s: %" PetscInt_FMT " setups and %" PetscInt_FMT
                           " with the same pattern, with AIJ %" PetscInt_FMT " and %" PetscInt_FMT,
                           where, a.rebuilds, a.refills, b.rebuilds, b.refills));
  PetscCall(SpikeTestSmall(PetscAbsReal(a.dropped - b.dropped), 100 * PETSC_MACHINE_EPSILON,
                           "difference of the dropped share", where));
  PetscCall(SpikeTestSmall(PetscAbsReal(a.decay - b.decay), 0.0, "difference of the estimated decay", where));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, reason, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(pb, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &r));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(r, 77));
  PetscCall(PCApply(pa, r, x));
  PetscCall(PCApply(pb, r, y));
  PetscCall(SameBits(x, y, "an apply", where));
  PetscCall(PCApplyTranspose(pa, r, x));
  PetscCall(PCApplyTranspose(pb, r, y));
  PetscCall(SameBits(x, y, "a transposed apply", where));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSpike(Mat A, const char prefix[], PC *pc)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOptionsPrefix(*pc, prefix));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscCall(PCSpikeSetMaxBorder(*pc, 0)); /* of diagonals of few rows single entries are looked at */
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const SpikeCase *s, PetscMPIInt size)
{
  const DiaCase  *c        = &s->c;
  const PetscBool device   = (PetscBool)!strcmp(SpikeTestDiaType(), MATDIACUDA),
                  dropping = (PetscBool)(strstr(s->options, "dropoff") != NULL);
  Conversions    expect    = size == 1 ? s->one : s->more;
  Mat            A, B;
  PC             pa, pb;
  PetscInt       conversions, most = 512; /* as in SpikeTestBackend() */
  PetscLogDouble moved;
  PCSpikeInfo    before, info = {0};
  char           where[128], prefix[32], text[256];

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "case%d_", (int)(s - cases)));
  PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -prefix_pop", prefix, s->options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(DiaMat(PETSC_COMM_WORLD, c, 0, MATAIJ, PETSC_FALSE, &B));
  PetscCall(MatConvert(B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &A));
  PetscCall(SetValues(c, 1, dropping ? 0.1 : 1.0, A, B));
  PetscCall(CreateSpike(A, prefix, &pa));
  PetscCall(CreateSpike(B, prefix, &pb));
  for (PetscInt k = 0; k < 5; k++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, setup %" PetscInt_FMT, c->name, k));
    if (k == 1) {
      PetscCall(MatScale(A, -0.5));
      PetscCall(MatScale(B, -0.5));
    }
    if (k == 2) PetscCall(SetValues(c, 3, dropping ? 0.1 : 1.0, A, B));
    /* what was dropped is too much now: another band */
    if (k == 3) PetscCall(SetValues(c, 4, dropping ? 3.0 : 1.0, A, B));
    if (k == 4) PetscCall(SetValues(c, 5, dropping ? 3.0 : 1.0, A, B));
    before = info;
    PetscCall(Compare(s, pa, pb, &conversions, &moved, where));
    PetscCall(PCSpikeGetInfo(pa, &info));
    if (device && PetscMax(info.kl, info.ku) > most) expect = ALWAYS; /* the host has bands that are too wide for it */
    PetscCall(SpikeTestCheck(Expected(expect, conversions, k, &before, &info), "%s: %" PetscInt_FMT " conversions",
                             where, conversions));
    PetscCall(SpikeTestCheck((PetscBool)(!device || size > 1 || expect == ALWAYS || !k || k == 3 || moved == 0.0),
                             "%s: %g bytes moved between host and device", where, (double)moved));
  }
  PetscCall(PCDestroy(&pa));
  PetscCall(PCDestroy(&pb));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(TestCase(&cases[k], size));
  PetscCall(SpikeTestEnd("dia_spike"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/dia_spike_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -dia_type diacuda -mat_type aijcusparse

TEST*/
