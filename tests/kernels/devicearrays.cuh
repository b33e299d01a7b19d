/* SPDX-License-Identifier: BSD-2-Clause */
/* devicearrays.cuh: arrays of the device in tests of kernels: made from vectors of the host, and fetched */
#pragma once

#include <petscsys.h>
#include <vector>

static inline void CheckCUDA(cudaError_t status)
{
  PetscCheckAbort(status == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", cudaGetErrorString(status));
}

template <typename X>
static X *Upload(const std::vector<X> &v)
{
  X *d;

  CheckCUDA(cudaMalloc((void **)&d, (v.size() + 1) * sizeof(X)));
  if (v.size()) CheckCUDA(cudaMemcpy(d, v.data(), v.size() * sizeof(X), cudaMemcpyHostToDevice));
  return d;
}

template <typename X>
static std::vector<X> Download(const void *d, size_t count)
{
  std::vector<X> v(count);

  if (count) CheckCUDA(cudaMemcpy(v.data(), d, count * sizeof(X), cudaMemcpyDeviceToHost));
  return v;
}
