/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Several PCSPIKE and PCBLOCKILU of different half-bandwidths, block sizes and precisions, used in turn: "
           "results are equal bit by bit to those of each alone.\n\n";

#include "spiketest.h"

#define COLUMNS 3

typedef struct {
  const char   *name, *options;
  SpikeTestBand band;
} Instance;

static const Instance instances[] = {
  {"spike 3,2", "-pc_type spike -pc_spike_local_partitions 3", {600, 3, 2, 1.2, SPIKE_TEST_RANDOM, 1}},
  {"spike 40,33, single",
   "-pc_type spike -pc_spike_local_partitions 2 -pc_spike_precision single",
   {700, 40, 33, 1.1, SPIKE_TEST_RANDOM, 2}},
  {"spike tridiagonal", "-pc_type spike", {999, 1, 1, 1.2, SPIKE_TEST_RANDOM, 3}},
  {"spike full, pivoting",
   "-pc_type spike -pc_spike_type full -pc_spike_pivoting -pc_spike_local_partitions 3",
   {500, 6, 7, 0.4, SPIKE_TEST_RANDOM, 4}},
  {"blockilu 4", "-pc_type blockilu -pc_blockilu_bs 4", {480, 6, 5, 1.2, SPIKE_TEST_RANDOM, 5}},
  {"blockilu 3, single, tasks",
   "-pc_type blockilu -pc_blockilu_bs 3 -pc_blockilu_precision single -pc_blockilu_local_subdomains 4",
   {450, 4, 4, 1.3, SPIKE_TEST_RANDOM, 6}},
};
#define NINSTANCES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(instances))

/* One preconditioner, and what it has made of its vectors: plain, transposed, columns, after new values */
typedef struct {
  Mat A, B, Y;
  Vec x, y[3];
  PC  pc;
} Used;

static PetscErrorCode Create(const Instance *c, Used *u)
{
  PetscOptions options;
  PetscInt     m;
  VecType      type;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &c->band, PETSC_DECIDE, MATAIJ, &u->A));
  PetscCall(MatCreateVecs(u->A, &u->x, &u->y[0]));
  for (PetscInt k = 1; k < 3; k++) PetscCall(VecDuplicate(u->y[0], &u->y[k]));
  PetscCall(SpikeTestSetRandom(u->x, 20 + c->band.seed));
  PetscCall(VecGetType(u->x, &type));
  PetscCall(VecGetLocalSize(u->x, &m));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, m, PETSC_DECIDE, PETSC_DETERMINE, COLUMNS, PETSC_DECIDE,
                                      NULL, &u->B));
  for (PetscInt k = 0; k < COLUMNS; k++) {
    Vec v;

    PetscCall(MatDenseGetColumnVecWrite(u->B, k, &v));
    PetscCall(SpikeTestSetRandom(v, 30 + k));
    PetscCall(MatDenseRestoreColumnVecWrite(u->B, k, &v));
  }
  PetscCall(MatAssemblyBegin(u->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(u->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(u->B, MAT_DO_NOT_COPY_VALUES, &u->Y));
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, c->options));
  PetscCall(PetscOptionsPush(options));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &u->pc));
  PetscCall(PCSetOperators(u->pc, u->A, u->A));
  PetscCall(PCSetFromOptions(u->pc));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsLeft(options)); /* an option that nobody reads fails the test: its text is no expected output */
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Used *u)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(&u->pc));
  PetscCall(VecDestroy(&u->x));
  for (PetscInt k = 0; k < 3; k++) PetscCall(VecDestroy(&u->y[k]));
  PetscCall(MatDestroy(&u->A));
  PetscCall(MatDestroy(&u->B));
  PetscCall(MatDestroy(&u->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Piece k of what is done with each */
#define NPIECES 5
static PetscErrorCode Do(Used *u, PetscInt k)
{
  PetscFunctionBegin;
  if (k == 0) PetscCall(PCSetUp(u->pc));
  else if (k == 1) PetscCall(PCApply(u->pc, u->x, u->y[0]));
  else if (k == 2) PetscCall(PCMatApply(u->pc, u->B, u->Y));
  else if (k == 3) PetscCall(PCApplyTranspose(u->pc, u->x, u->y[1]));
  else {
    PetscCall(MatScale(u->A, 3.0));
    PetscCall(PCApply(u->pc, u->x, u->y[2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Instance *c, const Used *u, const Used *alone, const char how[])
{
  static const char *const what[] = {"application", "transpose", "new values"};
  PetscBool                same;
  PetscReal                norm;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(VecEqual(u->y[k], alone->y[k], &same)); /* false with NaN */
    PetscCall(VecNorm(u->y[k], NORM_INFINITY, &norm));
    PetscCall(
      SpikeTestCheck((PetscBool)(same && norm > 0.0), "%s, %s: %s is not that of one alone", c->name, how, what[k]));
  }
  for (PetscInt k = 0; k < COLUMNS; k++) {
    Vec v, w;

    PetscCall(MatDenseGetColumnVecRead(u->Y, k, &v));
    PetscCall(MatDenseGetColumnVecRead(alone->Y, k, &w));
    PetscCall(VecEqual(v, w, &same));
    PetscCall(SpikeTestCheck(same, "%s, %s: column %" PetscInt_FMT " is not that of one alone", c->name, how, k));
    PetscCall(MatDenseRestoreColumnVecRead(u->Y, k, &v));
    PetscCall(MatDenseRestoreColumnVecRead(alone->Y, k, &w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Used alone[NINSTANCES], used[NINSTANCES];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt i = 0; i < NINSTANCES; i++) { /* each by itself; its results stay, the preconditioner goes */
    PetscCall(Create(&instances[i], &alone[i]));
    for (PetscInt k = 0; k < NPIECES; k++) PetscCall(Do(&alone[i], k));
    PetscCall(PCDestroy(&alone[i].pc));
  }
  /* in turn, forward and back */
  for (PetscInt back = 0; back < 2; back++) {
    for (PetscInt i = 0; i < NINSTANCES; i++) PetscCall(Create(&instances[i], &used[i]));
    for (PetscInt k = 0; k < NPIECES; k++)
      for (PetscInt i = 0; i < NINSTANCES; i++) PetscCall(Do(&used[back ? NINSTANCES - 1 - i : i], k));
    for (PetscInt i = 0; i < NINSTANCES; i++)
      PetscCall(Compare(&instances[i], &used[i], &alone[i], back ? "last first" : "first first"));
    for (PetscInt i = 0; i < NINSTANCES; i++) PetscCall(Destroy(&used[i]));
  }
  /* each pair of neighbours: the second is set up, used and gone between two uses of the first */
  for (PetscInt i = 0; i < NINSTANCES; i++) {
    const PetscInt j = (i + 1) % NINSTANCES;

    PetscCall(Create(&instances[i], &used[0]));
    for (PetscInt k = 0; k < NPIECES; k++) {
      PetscCall(Do(&used[0], k));
      PetscCall(Create(&instances[j], &used[1]));
      for (PetscInt l = 0; l < NPIECES; l++) PetscCall(Do(&used[1], l));
      PetscCall(Compare(&instances[j], &used[1], &alone[j], "between"));
      PetscCall(Destroy(&used[1]));
    }
    PetscCall(Compare(&instances[i], &used[0], &alone[i], "around another"));
    PetscCall(Destroy(&used[0]));
  }
  for (PetscInt i = 0; i < NINSTANCES; i++) PetscCall(Destroy(&alone[i]));
  PetscCall(SpikeTestEnd("spike_instances"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_instances_1.out
      test:
         suffix: 1
         nsize: {{1 2}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
