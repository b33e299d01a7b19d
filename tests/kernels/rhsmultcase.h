/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhsmultcase.h: products by diagonals with up to MANY right-hand sides, some of which have a reason, against row sums
  on the host; after rhscase.h
*/

#define MANY 33

/* Offsets of a pattern, ascending, within n rows; the number of them */
static PetscInt ManyOffsets(PetscInt pattern, PetscInt n, PetscInt offset[])
{
  const PetscInt apart[] = {PetscMin(-2501, 1 - n), -2500, -900, -897, -3, -1, 0, 2, 3, 4, 5, 6, 350, 353, 701,
                            PetscMax(702, n - 1)};
  PetscInt       count   = 0, all[128];
  const PetscInt most    = pattern == 0 ? 27 : (pattern == 1 ? 61 : (PetscInt)PETSC_STATIC_ARRAY_LENGTH(apart));

  for (PetscInt k = 0; k < most; k++) {
    if (pattern == 0) all[k] = k % 3 - 1 + (k / 3 % 3 - 1) * 17 + (k / 9 - 1) * 289; /* 27 points */
    else all[k] = pattern == 1 ? k - 20 : apart[k];
    if (PetscAbsInt(all[k]) < n) offset[count++] = all[k];
  }
  return count;
}

/* Column c of y, and its sums, have the same bits whatever columns are beside it */
static PetscErrorCode TestManyRhs(const SpikeKrylovRhsKernels *kernels, SpikeKrylov *single, PetscInt n,
                                  PetscInt pattern)
{
  const PetscInt            widths[] = {33, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32};
  const SpikeKrylovStep     steps[]  = {SPIKE_KRYLOV_NSTEPS, SPIKE_BCGS_OMEGA_RHO};
  const PetscInt            ld       = n + 1 + pattern % 2;
  const char *const         where    = pattern ? (pattern == 1 ? "band" : "far diagonals") : "27 points";
  const SpikeKrylovStepInfo none     = {"product", 1, 0, 0, 0, 0.0};
  PetscInt                  offset[128], count, nz = 0, *ai, *aj, *ti, *tj;
  PetscScalar   *aa, *ta, *host[5], *there[5], *got, *reference, *full, sums[2 * MANY * SPIKE_KRYLOV_MAXDOTS];
  PetscReal      nan = 0.0;
  SpikeKrylovRhs s;
  SpikeKrylovCSR csr;
  void          *copy = NULL;

  PetscFunctionBegin;
  nan /= nan;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.k = kernels;
  s.m = MANY;
  PetscCall((*kernels->create)(&s));
  count = ManyOffsets(pattern, n, offset);
  PetscCall(PetscMalloc3(n + 1, &ai, count * n, &aj, count * n, &aa));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt d = 0; d < count; d++) {
      if (i + offset[d] < 0 || i + offset[d] >= n) continue;
      aj[nz]   = i + offset[d];
      aa[nz++] = NumberAt(70 + d, i);
    }
    ai[i + 1] = nz;
  }
  PetscCall(MakeCSR(n, ai, aj, aa, &ti, &tj, &ta, &csr));
  PetscCall((*single->k->copy)(single, &csr, KSP_FUSED_SPMV_DIA, &copy));
  Check((PetscBool)(copy != NULL), where, n, "no copy was made");
  PetscCall(PetscMalloc3(MANY * ld, &got, MANY * ld, &reference, 2 * MANY * ld, &full));
  for (PetscInt k = 0; k < 5; k++) { /* 0 and 2 of the step, 1 is y, 3 x, 4 the diagonal */
    PetscCall(PetscMalloc1(MANY * ld, &host[k]));
    PetscCall(Make(&there[k], MANY * ld));
    for (PetscInt i = 0; i < MANY * ld; i++) host[k][i] = i % ld < n ? NumberAt(k, i) : (PetscScalar)nan;
    PetscCall(Put(there[k], host[k], MANY * ld));
  }
  for (PetscInt c = 0; c < MANY; c++) {
    for (PetscInt i = 0; i < n; i++) {
      PetscScalar sum = 0.0;

      for (PetscInt j = ai[i]; j < ai[i + 1]; j++) sum += aa[j] * host[3][c * ld + aj[j]];
      reference[c * ld + i] = sum;
    }
  }
  for (size_t w = 0; copy && w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
    for (int t = 0; t < 2; t++) { /* the step with the diagonal */
      const SpikeKrylovStepInfo *info  = steps[t] < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[steps[t]] : &none;
      PetscScalar               *v[]   = {there[0], there[1], there[2]};
      const PetscInt             lds[] = {ld, ld, ld};
      PetscBool                  near = PETSC_TRUE, same = PETSC_TRUE, kept = PETSC_TRUE;

      for (PetscInt c = 0; c < MANY; c++) {
        memset((void *)&s.scalars[c], 0, sizeof(s.scalars[c]));
        s.scalars[c].reason = w && c % 5 == 2 ? (int)KSP_CONVERGED_RTOL : 0;
      }
      PetscCall((*kernels->push)(&s, MANY));
      PetscCall(Put(there[1], host[1], MANY * ld));
      PetscCall((*kernels->mult)(&s, copy, widths[w], steps[t], t ? there[4] : NULL, there[3], there[1], ld, v, lds));
      PetscCall(Get(got, there[1], MANY * ld));
      for (PetscInt c = 0; c < MANY; c++) {
        for (PetscInt i = 0; i < ld; i++) {
          const PetscScalar y = got[c * ld + i];

          if (i >= n) kept = (PetscBool)(kept && y != y);
          else if (c >= widths[w] || s.scalars[c].reason) kept = (PetscBool)(kept && y == host[1][c * ld + i]);
          else {
            const PetscScalar r = t ? host[4][i] * reference[c * ld + i] : reference[c * ld + i];

            near = (PetscBool)(near && PetscAbsScalar(y - r) <= 100 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(r)));
            if (!w) full[t * MANY * ld + c * ld + i] = y;
            same = (PetscBool)(same && y == full[t * MANY * ld + c * ld + i]);
          }
        }
      }
      Check(near, where, n, "a product");
      Check(same, where, n, "a column depends on those beside it");
      Check(kept, where, n, "a column was written that is none of the product");
      if (!info->ndots) continue;
      PetscCall((*kernels->sums)(&s, widths[w], info->ndots));
      for (PetscInt c = 0; c < widths[w]; c++) {
        PetscScalar  dots[SPIKE_KRYLOV_MAXDOTS];
        PetscScalar *u[] = {host[0] + c * ld, got + c * ld, host[2] + c * ld};

        if (s.scalars[c].reason) continue;
        (*SpikeKrylovLoops_base[steps[t]])(n, &s.scalars[c].f, u, dots);
        for (PetscInt k = 0; k < info->ndots; k++) {
          if (!w) sums[c * SPIKE_KRYLOV_MAXDOTS + k] = s.sums[c * info->ndots + k];
          Check((PetscBool)(PetscAbsScalar(s.sums[c * info->ndots + k] - dots[k]) <=
                            100 * PETSC_MACHINE_EPSILON * 20 * (n + 10)),
                where, n, "a sum");
          Check((PetscBool)(sums[c * SPIKE_KRYLOV_MAXDOTS + k] == s.sums[c * info->ndots + k]), where, n,
                "a sum depends on the right-hand sides beside");
        }
      }
    }
  }
  PetscCall((*single->k->destroycopy)(single, &copy));
  for (PetscInt k = 0; k < 5; k++) {
    PetscCall(PetscFree(host[k]));
    PetscCall(Drop(there[k]));
  }
  PetscCall(Drop(ta));
  PetscCall(DropIndices(ti));
  PetscCall(DropIndices(tj));
  PetscCall(PetscFree3(got, reference, full));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscCall((*kernels->destroy)(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Around whole tiles of 512 rows */
static PetscErrorCode TestMany(const SpikeKrylovRhsKernels *kernels, SpikeKrylov *single, PetscInt nsizes)
{
  const PetscInt sizes[] = {1, 2, 31, 511, 512, 513, 1026, 5003};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < PetscMin(nsizes, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes)); k++)
    for (PetscInt pattern = 0; pattern < 3; pattern++)
      if (ShareNext()) PetscCall(TestManyRhs(kernels, single, sizes[k], pattern));
  Line("products by diagonals with many right-hand sides");
  PetscFunctionReturn(PETSC_SUCCESS);
}
