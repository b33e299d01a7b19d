/* SPDX-License-Identifier: BSD-2-Clause */
/* cudacapture.cu: the apply of PCSPIKE, captured in a CUDA graph through its capability and replayed; prints TAP */
static char help[] =
  "PetscSpikeGetEnqueue_C of PCSPIKE on a GPU: capture, replay with other right-hand sides and with other values.\n\
  -small   few cases, for memory checkers\n\n";

#include <petscdevice_cuda.h>
#include <petscspike.h>
extern "C" {
#include "common/enqueue.h"
}
#include <dlfcn.h>
#include <vector>

static int tests, failed;

static void Check(bool good, const char *what, PetscInt n, PetscInt kl, PetscInt ku, bool reorder, bool trans)
{
  if (!good) {
    failed++;
    printf("# %s: n %d, kl %d, ku %d%s%s\n", what, (int)n, (int)kl, (int)ku, reorder ? ", reordered" : "",
           trans ? ", transposed" : "");
  }
  tests++;
}

/* A random band, every row and column shuffled where it is to be reordered */
static PetscErrorCode CreateMat(PetscInt n, PetscInt kl, PetscInt ku, bool shuffled, Mat *A)
{
  PetscRandom rand;

  PetscFunctionBeginUser;
  PetscCheck(!shuffled || n % 17, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "%d rows: a multiple of 17, by which they are shuffled", (int)n);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rand));
  PetscCall(PetscRandomSetInterval(rand, -1.0, 1.0));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, MATSEQAIJCUSPARSE));
  PetscCall(MatSeqAIJSetPreallocation(*A, PetscMin(n, kl + ku + 1), NULL));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      const PetscInt64 row = shuffled ? ((PetscInt64)i * 17) % n : i, col = shuffled ? ((PetscInt64)j * 17) % n : j;
      PetscScalar      v;

      PetscCall(PetscRandomGetValue(rand, &v));
      PetscCall(
        MatSetValue(*A, (PetscInt)row, (PetscInt)col, i == j ? (PetscScalar)(1.2 * (kl + ku + 1)) : v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscRandomDestroy(&rand));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Memory of the device in use: what this process has allocated where the library of tests/device/limits.c is loaded.
  Else that of all processes, of which there is to be no other one
*/
static PetscErrorCode GetUsed(size_t *used)
{
  static const auto held = (size_t(*)(void))dlsym(RTLD_DEFAULT, "SpikeDeviceHeld");
  size_t            left, total;

  PetscFunctionBeginUser;
  if (held) {
    *used = held();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMemGetInfo(&left, &total));
  *used = total - left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameBits(Vec y, const PetscScalar *d, PetscInt n, bool *same)
{
  std::vector<PetscScalar> a(n);
  const PetscScalar       *b;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMemcpy(a.data(), d, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  PetscCall(VecGetArrayRead(y, &b));
  *same = !memcmp(a.data(), b, n * sizeof(PetscScalar));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(PetscInt n, PetscInt kl, PetscInt ku, PetscInt partitions, bool reorder)
{
  Mat                A;
  PC                 pc;
  Vec                x, y;
  PetscScalar       *dx, *dy;
  const PetscScalar *xa;
  PetscMemType       memtype;
  cudaStream_t       stream;
  SpikeEnqueue       e, again;
  bool               same = false;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(n, kl, ku, reorder, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
  if (reorder) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(SpikeGetEnqueue((PetscObject)pc, &e));
  Check(!e.run, "something to run before the setup", n, kl, ku, reorder, false);
  PetscCall(PCSetUp(pc));
  PetscCall(SpikeGetEnqueue((PetscObject)pc, &e));
  Check(e.run && e.capturable && e.n == n && PetscMemTypeCUDA(e.memtype), "no capturable work after the setup", n, kl,
        ku, reorder, false);
  if (!e.run) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMalloc((void **)&dx, n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dy, n * sizeof(PetscScalar)));
  /*
    a blocking one: work on the legacy stream would end the capture with an error, as would, in the mode below, an
    allocation or a wait
  */
  PetscCallCUDA(cudaStreamCreate(&stream));
  for (int t = 0; t < 2; t++) {
    const bool      trans   = t > 0;
    cudaGraph_t     graph   = NULL;
    cudaGraphExec_t exec    = NULL;
    size_t          nodes   = 0;
    bool            kernels = true;

    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    PetscCall((*e.run)((PetscObject)pc, (PetscBool)trans, (void *)stream, dx, dy));
    Check(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "the capture fails", n, kl, ku, reorder, trans);
    if (!graph) continue;
    PetscCallCUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    std::vector<cudaGraphNode_t> list(nodes);
    PetscCallCUDA(cudaGraphGetNodes(graph, list.data(), &nodes));
    for (cudaGraphNode_t node : list) {
      cudaGraphNodeType type;

      PetscCallCUDA(cudaGraphNodeGetType(node, &type));
      kernels = kernels && (type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset);
    }
    Check(nodes && kernels, "other nodes than kernels in the graph", n, kl, ku, reorder, trans);
    PetscCallCUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int pass = 0; pass < 4; pass++) { /* another right-hand side each time, other values from the third on */
      if (pass == 2) {
        size_t before, after;

        PetscCall(MatScale(A, trans ? 0.7 : 1.3));
        PetscCall(GetUsed(&before));
        PetscCall(PCSetUp(pc));
        PetscCall(GetUsed(&after));
        Check(before == after, "memory allocated by a setup with the same pattern", n, kl, ku, reorder, trans);
        PetscCall(SpikeGetEnqueue((PetscObject)pc, &again));
        Check(again.shape == e.shape && again.values != e.values, "the states after a refill", n, kl, ku, reorder,
              trans);
      }
      PetscCall(VecSetRandom(x, NULL));
      if (trans) PetscCall(PCApplyTranspose(pc, x, y));
      else PetscCall(PCApply(pc, x, y));
      PetscCall(VecGetArrayReadAndMemType(x, &xa, &memtype));
      PetscCallCUDA(cudaMemcpy(dx, xa, n * sizeof(PetscScalar), cudaMemcpyDefault));
      PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
      PetscCallCUDA(cudaMemset(dy, 0xff, n * sizeof(PetscScalar)));
      PetscCallCUDA(cudaGraphLaunch(exec, stream));
      PetscCallCUDA(cudaStreamSynchronize(stream));
      PetscCall(SameBits(y, dy, n, &same));
      Check(same, "the graph's result differs from PCApply()'s", n, kl, ku, reorder, trans);
    }
    PetscCallCUDA(cudaGraphExecDestroy(exec));
    PetscCallCUDA(cudaGraphDestroy(graph));
  }
  PetscCall(PCReset(pc));
  PetscCall(SpikeGetEnqueue((PetscObject)pc, &e));
  Check(!e.run, "something to run after PCReset()", n, kl, ku, reorder, false);
  PetscCallCUDA(cudaStreamDestroy(stream));
  PetscCallCUDA(cudaFree(dx));
  PetscCallCUDA(cudaFree(dy));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cases[][4] = {{1, 0, 0, 1},       {97, 1, 1, 1},      {5003, 1, 1, 40},
                               {5003, 8, 3, 20},   {5003, 16, 16, 9},  {8001, 32, 31, 30},
                               {6007, 50, 50, 12}, {6007, 100, 70, 7}, {6007, 200, 201, 4}};
  /* PETSC_STATIC_ARRAY_LENGTH() of C++ counts the last dimension */
  const size_t ncases = sizeof(cases) / sizeof(cases[0]);
  PetscBool    small  = PETSC_FALSE;
  int          count  = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("ok 1 - CUDA graph of an apply # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  for (size_t k = 0; k < (small ? 4 : ncases); k++) {
    for (int reorder = 0; reorder < 2; reorder++) {
      const int before = failed;

      PetscCall(Test(cases[k][0], cases[k][1], cases[k][2], cases[k][3], reorder > 0));
      printf("%sok %d - CUDA graph of an apply: n %d, half-bandwidths %d,%d, %d partitions%s\n",
             failed > before ? "not " : "", (int)(2 * k) + reorder + 1, (int)cases[k][0], (int)cases[k][1],
             (int)cases[k][2], (int)cases[k][3], reorder ? ", reordered" : "");
    }
  }
  printf("1..%d\n", (int)(2 * (small ? 4 : ncases)));
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
