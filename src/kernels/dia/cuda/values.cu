/* SPDX-License-Identifier: BSD-2-Clause */
/* values.cu: what changes the values of a matrix by diagonals, or sums them up */
#include "dia.cuh"

/*
  A thread a row, whose columns are sorted as a rule: each diagonal is looked for after the previous one. Other places
  have been set to 0
*/
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAFillKernel(SpikeCSR csr, const PetscInt *__restrict__ offset, int count, PetscInt64 ld, PetscInt n,
                     PetscScalar *val)
{
  const PetscInt64 row = SpikeDIAThread();
  const PetscInt   i   = (PetscInt)row;
  int              d   = -1;

  if (row >= n) return;
  for (PetscInt k = csr.ai[i]; k < csr.ai[i + 1]; k++) {
    const PetscInt wanted = (csr.colmap ? csr.colmap[csr.aj[k]] : csr.aj[k]) + csr.shift - i;

    if (d + 1 < count && offset[d + 1] == wanted) d++;
    else {
      int lo = 0, hi = count;

      while (lo < hi) {
        const int mid = lo + (hi - lo) / 2;

        if (offset[mid] < wanted) lo = mid + 1;
        else hi = mid;
      }
      d = lo;
    }
    if (d < count && offset[d] == wanted) val[d * ld + i] = csr.aa[k];
  }
}

PetscErrorCode SpikeDIAFill_CUDA(SpikeDIA *A, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeDIACUDA *h = (const SpikeDIACUDA *)A->data;

  PetscFunctionBegin;
  PetscCall(SpikeDIAZero_CUDA(A));
  for (PetscInt p = 0; p < nparts; p++)
    PetscCall(
      SpikeDIALaunch(A, A->n, SpikeDIAFillKernel, parts[p], h->offset, (int)A->count, SpikeDIALd(A), A->n, A->val));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAZero_CUDA(SpikeDIA *A)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(A->stream, &stream));
  if (A->places) PetscCallCUDA(cudaMemsetAsync(A->val, 0, (size_t)A->places * sizeof(PetscScalar), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* val <- f(val, number of the place); rows after the last one stay zeros */
template <typename F>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAEachKernel(int count, PetscInt64 ld, PetscInt n, PetscScalar *val, F f)
{
  const PetscInt64 row = SpikeDIAThread();

  if (row >= n) return;
  for (int d = blockIdx.y; d < count; d += gridDim.y) val[d * ld + row] = f(val[d * ld + row], d, (PetscInt)row);
}

template <typename F>
static PetscErrorCode SpikeDIAEach(SpikeDIA *A, F f)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!A->places) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  SpikeDIAEachKernel<F><<<dim3(SpikeDIAThreadBlocks(A->n), (unsigned)PetscMin(A->count, (PetscInt)32768)),
                          SPIKE_DIA_THREADS, 0, stream>>>((int)A->count, SpikeDIALd(A), A->n, A->val, f);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct SpikeDIAScale {
  PetscScalar a;

  __device__ __forceinline__ PetscScalar operator()(PetscScalar v, int, PetscInt) const { return a * v; }
};

struct SpikeDIAConjugate {
  __device__ __forceinline__ PetscScalar operator()(PetscScalar v, int, PetscInt) const { return PetscConj(v); }
};

struct SpikeDIAAXPY {
  PetscScalar a;
  const PetscScalar *__restrict__ val;
  PetscInt64 ld;

  __device__ __forceinline__ PetscScalar operator()(PetscScalar v, int d, PetscInt i) const
  {
    return SpikeFma(a, val[d * ld + i], v);
  }
};

struct SpikeDIALeftRight {
  const SpikeDIATable *__restrict__ table;
  const PetscScalar *__restrict__ l, *__restrict__ r, *__restrict__ rghost;

  __device__ __forceinline__ PetscScalar operator()(PetscScalar v, int d, PetscInt i) const
  {
    const SpikeDIATable t = table[d];

    if (i < t.first || i >= t.last) return v;
    if (l) v = l[i] * v;
    if (r) v = SpikeDIAEntry(t, i, r, rghost) * v;
    return v;
  }
};

PetscErrorCode SpikeDIAScale_CUDA(SpikeDIA *A, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(SpikeDIAEach(A, SpikeDIAScale{a}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAConjugate_CUDA(SpikeDIA *A)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) PetscCall(SpikeDIAEach(A, SpikeDIAConjugate{}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIADiagonalScale_CUDA(SpikeDIA *A, const PetscScalar *l, const PetscScalar *r,
                                          const PetscScalar *rghost)
{
  PetscFunctionBegin;
  PetscCall(SpikeDIAEach(A, SpikeDIALeftRight{((const SpikeDIACUDA *)A->data)->table, l, r, rghost}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAAXPY_CUDA(SpikeDIA *A, PetscScalar a, const SpikeDIA *B)
{
  PetscFunctionBegin;
  PetscCall(SpikeDIAEach(A, SpikeDIAAXPY{a, B->val, SpikeDIALd(B)}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIACopy_CUDA(SpikeDIA *A, const SpikeDIA *B)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(A->stream, &stream));
  if (A->places)
    PetscCallCUDA(
      cudaMemcpyAsync(A->val, B->val, (size_t)A->places * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAGetDiagonal_CUDA(const SpikeDIA *A, PetscInt d, PetscScalar *v)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(A->stream, &stream));
  if (A->n && d == A->count) PetscCallCUDA(cudaMemsetAsync(v, 0, (size_t)A->n * sizeof(PetscScalar), stream));
  else if (A->n)
    PetscCallCUDA(cudaMemcpyAsync(v, A->val + d * SpikeDIALd(A), (size_t)A->n * sizeof(PetscScalar),
                                  cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIASetKernel(PetscInt first, PetscInt last, bool add, PetscScalar a, const PetscScalar *__restrict__ v,
                    PetscScalar *val)
{
  const PetscInt64 i = first + SpikeDIAThread();

  if (i >= last) return;
  val[i] = SpikeFma(a, v ? v[i] : PetscScalar(1.0), add ? val[i] : PetscScalar(0.0));
}

PetscErrorCode SpikeDIASetDiagonal_CUDA(SpikeDIA *A, PetscInt d, PetscBool add, PetscScalar a, const PetscScalar *v)
{
  PetscFunctionBegin;
  PetscCall(SpikeDIALaunch(A, (PetscInt64)A->last[d] - A->first[d], SpikeDIASetKernel, A->first[d], A->last[d],
                           add ? true : false, a, v, A->val + d * SpikeDIALd(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__device__ static __forceinline__ PetscReal SpikeDIASquare(PetscScalar a)
{
#if defined(PETSC_USE_COMPLEX)
  return a.real() * a.real() + a.imag() * a.imag();
#else
  return a * a;
#endif
}

typedef enum {
  SPIKE_DIA_OF_ROWS,
  SPIKE_DIA_OF_SQUARES, /* of rows */
  SPIKE_DIA_OF_COLUMNS,
  SPIKE_DIA_OF_GHOSTS
} SpikeDIASumsWhich;

/* out[k] <- the sum number begin + k, begin + k < end, as a thread finds it */
template <int OF>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIASumsKernel(const SpikeDIATable *__restrict__ table, int count, PetscInt64 ld, PetscInt begin, PetscInt end,
                     const PetscScalar *__restrict__ val, PetscReal *out)
{
  const PetscInt64 number = begin + SpikeDIAThread();
  PetscReal        sum    = 0.0;

  if (number >= end) return;
  for (int k = 0; k < count; k++) {
    const int           d = OF == SPIKE_DIA_OF_COLUMNS || OF == SPIKE_DIA_OF_GHOSTS ? count - 1 - k : k;
    const SpikeDIATable t = table[d];
    PetscInt64          i = number;
    bool                in;

    if (OF == SPIKE_DIA_OF_COLUMNS) {
      i -= t.offset;
      in = i >= t.own && i < t.upper;
    } else if (OF == SPIKE_DIA_OF_GHOSTS) {
      i  = number - t.below - t.offset;
      in = i >= t.first && i < t.own;
      if (!in) {
        i  = number - t.above - t.offset;
        in = i >= t.upper && i < t.last;
      }
    } else in = i >= t.first && i < t.last;
    if (in) sum += OF == SPIKE_DIA_OF_SQUARES ? SpikeDIASquare(val[d * ld + i]) : SpikeAbs(val[d * ld + i]);
  }
  out[number - begin] = sum;
}

/* n sums, or with OF_SQUARES their sum in order; SPIKE_DIA_WORK at a time, so that nothing is allocated */
template <int OF>
static PetscErrorCode SpikeDIASumsOf_Private(const SpikeDIA *A, PetscInt n, PetscReal *out)
{
  const SpikeDIACUDA *h     = (const SpikeDIACUDA *)A->data;
  PetscReal          *chunk = out;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(A->stream, &stream));
  if (OF == SPIKE_DIA_OF_SQUARES) {
    PetscCall(PetscMalloc1(PetscMin(n, (PetscInt)SPIKE_DIA_WORK), &chunk));
    *out = 0.0;
  }
  for (PetscInt begin = 0, end; begin < n; begin = end) {
    end = begin + PetscMin((PetscInt)SPIKE_DIA_WORK, n - begin);
    PetscCall(SpikeDIALaunch(A, (PetscInt64)end - begin, SpikeDIASumsKernel<OF>, h->table, (int)A->count, SpikeDIALd(A),
                             begin, end, A->val, h->work));
    PetscCallCUDA(cudaMemcpyAsync(OF == SPIKE_DIA_OF_SQUARES ? chunk : chunk + begin, h->work,
                                  (size_t)(end - begin) * sizeof(PetscReal), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)(end - begin) * sizeof(PetscReal)));
    for (PetscInt k = begin; OF == SPIKE_DIA_OF_SQUARES && k < end; k++) *out += chunk[k - begin];
  }
  if (OF == SPIKE_DIA_OF_SQUARES) PetscCall(PetscFree(chunk));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIASums_CUDA(const SpikeDIA *A, SpikeDIASums kind, PetscReal *out, PetscReal *ghost)
{
  PetscFunctionBegin;
  if (kind == SPIKE_DIA_ROWSUMS) PetscCall(SpikeDIASumsOf_Private<SPIKE_DIA_OF_ROWS>(A, A->n, out));
  else if (kind == SPIKE_DIA_SQUARES) PetscCall(SpikeDIASumsOf_Private<SPIKE_DIA_OF_SQUARES>(A, A->n, out));
  else {
    PetscCall(SpikeDIASumsOf_Private<SPIKE_DIA_OF_COLUMNS>(A, A->m, out));
    PetscCall(SpikeDIASumsOf_Private<SPIKE_DIA_OF_GHOSTS>(A, A->nghost, ghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
