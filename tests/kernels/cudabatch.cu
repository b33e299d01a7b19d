/* SPDX-License-Identifier: BSD-2-Clause */
/* cudabatch.cu: tests of the CUDA backend of batch.h; prints TAP */
static char help[] = "Batches of bands of the CUDA backend.\n\n";

#include "kernels/batch/batch.h"
#include <petscdevice_cuda.h>

static PetscErrorCode BatchMove(void *to, const void *from, size_t bytes, PetscBool todevice)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(to, from, bytes, todevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename X>
static PetscErrorCode BatchMemory(size_t bytes, X **ptr)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)ptr, PetscMax(bytes, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BatchRelease(void *ptr)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BatchReport(SpikeBatch *t, SpikePivot *pivot)
{
  PetscFunctionBegin;
  PetscCall((*t->k->fetch)(t));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall((*t->k->report)(t, pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "batchcase.h"

/* tol and boost in units of a number on the device, of which 0 counts as 1 */
static PetscErrorCode TestUnits(void)
{
  const double units[] = {1e6, 0.0};
  double      *unit;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&unit, sizeof(*unit)));
  for (int k = 0; k < 2; k++) {
    BatchCase        c;
    SpikePivot       pivot = {(PetscReal)1e-3, (PetscReal)2e-3, 0, -1, 0.0, PETSC_TRUE};
    const BatchShape shape = {"units", 40, 10, 0};

    PetscCallCUDA(cudaMemcpy(unit, &units[k], sizeof(*unit), cudaMemcpyHostToDevice));
    PetscCall(BatchCaseCreate(&shape, 2, 2, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_CUDA, &c));
    PetscCall(BatchCaseSetUp(&c, &pivot));
    PetscCall((*c.t.k->setup)(&c.t, &pivot, unit)); /* of factors, which is another matrix of the same shape */
    PetscCall(BatchReport(&c.t, &pivot));
    Check((PetscBool)(pivot.badrow < 0 && (k ? pivot.nboost == 0 : pivot.nboost == 400)), "boosted pivots",
          k ? "unit 0" : "unit 1e6");
    PetscCall(BatchCaseDestroy(&c));
  }
  PetscCallCUDA(cudaFree(unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both backends have the same solutions, to rounding, and no byte passes the host while one applies */
static PetscErrorCode TestHost(void)
{
  PetscFunctionBegin;
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(bandwidths); w++) {
    BatchCase      host, device;
    SpikePivot     pivot = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
    PetscScalar   *b, *x, *y, *db;
    PetscLogDouble before, after;
    PetscInt       n;

    PetscCall(BatchCaseCreate(&shapes[9], bandwidths[w][0], bandwidths[w][1], PETSC_TRUE, PETSC_FALSE,
                              &SpikeBatchKernels_CUDA, &device));
    PetscCall(BatchCaseSetUp(&device, &pivot));
    n    = device.n;
    host = device;
    memset((void *)&host.t, 0, sizeof(host.t));
    host.t.nsys  = device.t.nsys;
    host.t.start = device.start;
    host.t.kl    = device.kl;
    host.t.ku    = device.ku;
    host.t.k     = &SpikeBatchKernels_Host;
    PetscCall((*host.t.k->create)(&host.t));
    for (PetscInt k = 0; k < host.t.ngroups * host.t.lanes; k++) {
      const PetscInt   q = host.t.system[k], m = q < 0 ? 0 : host.start[q + 1] - host.start[q];
      const PetscCount step = (PetscCount)host.t.width * host.t.lanes;
      PetscScalar     *to   = host.t.a + host.t.off[k / host.t.lanes] + k % host.t.lanes;

      for (PetscInt i = 0; i < host.t.rows[k / host.t.lanes]; i++)
        for (PetscInt d = 0; d < host.t.width; d++)
          to[i * step + d * host.t.lanes] = i < m ? host.entries[(size_t)(host.start[q] + i) * host.t.width + d]
                                                  : PetscScalar(d == host.kl ? 1.0 : 0.0);
    }
    PetscCall((*host.t.k->setup)(&host.t, &pivot, NULL));
    PetscCall(PetscMalloc3(n, &b, n, &x, n, &y));
    for (PetscInt i = 0; i < n; i++) b[i] = Random(3, i);
    PetscCall(BatchMemory(n * sizeof(*b), &db));
    for (int trans = 0; trans < 2; trans++) {
      PetscCall(BatchMove(db, b, n * sizeof(*b), PETSC_TRUE));
      PetscCall((*host.t.k->apply)(&host.t, (PetscBool)trans, 1, b, n, x, n));
      before = petsc_gtoc_ct + petsc_ctog_ct;
      PetscCall((*device.t.k->apply)(&device.t, (PetscBool)trans, 1, db, n, db, n));
      after = petsc_gtoc_ct + petsc_ctog_ct;
      Check((PetscBool)(before == after), "copies", "apply");
      PetscCall(BatchMove(y, db, n * sizeof(*b), PETSC_FALSE));
      for (PetscInt i = 0; i < n; i++)
        Check((PetscBool)(PetscAbsScalar(x[i] - y[i]) <= 1000 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(x[i]))),
              "differs from the host's", trans ? "transposed" : "plain");
    }
    PetscCall(BatchRelease(db));
    PetscCall(PetscFree3(b, x, y));
    PetscCall((*host.t.k->destroy)(&host.t));
    PetscCall(BatchCaseDestroy(&device));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  if (small) {
    columns = 1;
    each    = 3;
  }
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(BatchTestSolves(&SpikeBatchKernels_CUDA, PETSC_FALSE));
  Report("solves");
  PetscCall(BatchTestPivots(&SpikeBatchKernels_CUDA, PETSC_FALSE));
  Report("pivots");
  PetscCall(TestUnits());
  Report("units of pivots");
  PetscCall(TestHost());
  Report("the same as the host");
  printf("1..%d\n", number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
