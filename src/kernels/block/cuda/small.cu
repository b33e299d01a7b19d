/* SPDX-License-Identifier: BSD-2-Clause */
/* small.cu: Cholesky factors of small blocks on CUDA devices */
#include "block.cuh"

/*
  A warp a block; lane j has column j of R and of its inverse R^-1, in shared memory. Step i: the pivot from G(i, i) -
  sum |R(k, i)|^2, then row i of R; R^-1 by columns: R(i, j) times what is above it. Arithmetic in double precision.
  Bytes: G, R, inv once.
*/
template <typename V>
__global__ void __launch_bounds__(32)
  SpikeBlockCholesky_Kernel(int m, const V *G, bool again, V *R, V *inv, double tol, PetscInt *bad)
{
  __shared__ SpikeBlockSum r[SPIKE_BLOCK_MAXM][SPIKE_BLOCK_MAXM + 1], w[SPIKE_BLOCK_MAXM][SPIKE_BLOCK_MAXM + 1];
  const int                j      = (int)threadIdx.x;
  const PetscCount         at     = (PetscCount)blockIdx.x * m * m;
  int                      failed = m;

  G += at;
  R += at;
  inv += at;
  for (int i = 0; i < m; i++)
    if (j < m) {
      r[i][j] = 0.0;
      w[i][j] = 0.0;
    }
  __syncwarp();
  for (int i = 0; i < m; i++) {
    double       pivot = PetscRealPart(SpikeBlockSum(G[i + i * m]));
    const double whole = pivot;

    for (int k = 0; k < i; k++) pivot -= PetscRealPart(r[k][i] * SpikeBlockConj(r[k][i], true));
    if (!(pivot > tol * whole) || !(pivot - pivot == 0.0)) {
      failed = i;
      break;
    }
    if (j >= i && j < m) {
      SpikeBlockSum v = SpikeBlockSum(G[i + j * m]);

      for (int k = 0; k < i; k++) v -= SpikeBlockConj(r[k][i], true) * r[k][j];
      r[i][j] = j == i ? SpikeBlockSum(sqrt(pivot)) : v / sqrt(pivot);
    }
    __syncwarp();
  }
  /* column j of R^-1, from its diagonal upwards */
  if (j < failed) {
    for (int i = j; i >= 0; i--) {
      SpikeBlockSum v = i == j ? 1.0 : 0.0;

      for (int k = i + 1; k <= j; k++) v -= r[i][k] * w[k][j];
      w[i][j] = v / r[i][i];
    }
  }
  __syncwarp();
  for (int i = 0; i < m; i++)
    if (j < m) inv[i + j * m] = V(i < failed && j < failed ? w[i][j] : SpikeBlockSum(0.0));
  if (j < m) {
    if (again) { /* column j of r times what is there */
      for (int i = 0; i < m; i++) {
        SpikeBlockSum v = 0.0;

        if (i < failed)
          for (int k = i; k <= j; k++) v += r[i][k] * SpikeBlockSum(R[k + j * m]);
        w[i][j] = i <= j ? v : SpikeBlockSum(0.0);
      }
      for (int i = 0; i < m; i++) R[i + j * m] = V(w[i][j]);
    } else
      for (int i = 0; i < m; i++) R[i + j * m] = V(i < failed ? r[i][j] : SpikeBlockSum(0.0));
  }
  if (j == 0 && failed < m && bad[blockIdx.x] == -1) bad[blockIdx.x] = failed;
}

PetscErrorCode SpikeBlockCholesky_CUDA(SpikeBlock *s, PetscSpikePrecision precision, PetscInt count, PetscInt m,
                                       const void *G, PetscBool again, void *R, void *inv, PetscReal tol, PetscInt *bad)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCheck(m >= 1 && m <= SPIKE_BLOCK_MAXM, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Blocks of %" PetscInt_FMT " columns, there are 1 to %d", m, SPIKE_BLOCK_MAXM);
  PetscCall(SpikeBlockStream(s, &stream));
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE)
    SpikeBlockCholesky_Kernel<SpikeDouble><<<(unsigned)count, 32, 0, stream>>>((int)m, (const SpikeDouble *)G,
                                                                               again ? true : false, (SpikeDouble *)R,
                                                                               (SpikeDouble *)inv, (double)tol, bad);
  else
    SpikeBlockCholesky_Kernel<SpikeSingle><<<(unsigned)count, 32, 0, stream>>>((int)m, (const SpikeSingle *)G,
                                                                               again ? true : false, (SpikeSingle *)R,
                                                                               (SpikeSingle *)inv, (double)tol, bad);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
