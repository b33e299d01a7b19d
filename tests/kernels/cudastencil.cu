/* SPDX-License-Identifier: BSD-2-Clause */
/* cudastencil.cu: tests of the CUDA backend of stencil.h against the host's; prints TAP */
static char help[] = "Products by stencils of the CUDA backend. -small: few sizes, for compute-sanitizer.\n\n";

#include <petscdevice_cuda.h>
#include "kernels/krylov/krylov.h"

#define GUARD 64

static int number = 0, failures = 0, bad = 0;

static PetscScalar NumberAt(PetscInt seed, PetscCount i)
{
  unsigned long long v = (unsigned long long)(seed + 1) * 0x9e3779b97f4a7c15ull +
                         (unsigned long long)i * 0xd1342543de82ef95ull;
  double a[2];

  for (int k = 0; k < 2; k++) {
    v ^= v >> 29;
    v *= 0xbf58476d1ce4e5b9ull;
    v ^= v >> 32;
    a[k] = (double)(v >> 40) / (double)(1 << 23) - 1.0;
  }
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX((PetscReal)a[0], (PetscReal)a[1]);
#else
  return (PetscScalar)a[0];
#endif
}

static PetscScalar NaN(void)
{
  volatile PetscReal zero = 0.0;

  return (PetscScalar)(zero / zero);
}

static void Check(PetscBool ok, const char what[], PetscInt at)
{
  if (ok) return;
  if (bad++ < 5) printf("# %s, at %ld\n", what, (long)at);
}

static void EndOf(const char what[])
{
  printf("%sok %d - %s\n", bad ? "not " : "", ++number, what);
  if (bad) failures++;
  bad = 0;
}

/* Numbers on the host and on the device, with guards that hold NaN around them */
typedef struct {
  PetscCount   n;
  PetscScalar *host, *all, *there;
} Array;

static PetscErrorCode Make(PetscCount n, Array *a)
{
  PetscFunctionBegin;
  a->n = n;
  PetscCall(PetscMalloc1(n + 2 * GUARD, &a->all));
  for (PetscCount i = 0; i < n + 2 * GUARD; i++) a->all[i] = NaN();
  a->host = a->all + GUARD;
  PetscCallCUDA(cudaMalloc((void **)&a->there, (size_t)(n + 2 * GUARD) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Put(const Array *a)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(a->there, a->all, (size_t)(a->n + 2 * GUARD) * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(const Array *a, PetscScalar all[])
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(all, a->there, (size_t)(a->n + 2 * GUARD) * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Drop(Array *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a->all));
  PetscCallCUDA(cudaFree(a->there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Points of a stencil, backwards where `reverse` is set; kinds: 1, 3, 5, 7 neighbours; 9, 27 with corners; 2 one-sided;
  13 up to 2 away; 125 all of these
*/
static PetscInt Offsets(PetscInt kind, PetscInt dim, PetscBool reverse, PetscInt offset[])
{
  PetscInt n = 0;

  for (PetscInt k = -2; k < 3; k++)
    for (PetscInt j = -2; j < 3; j++)
      for (PetscInt i = -2; i < 3; i++) {
        const PetscInt far   = PetscMax(PetscMax(PetscAbsInt(i), PetscAbsInt(j)), PetscAbsInt(k)),
                       turns = (i != 0) + (j != 0) + (k != 0);
        PetscBool take;

        if ((dim < 2 && j) || (dim < 3 && k)) continue;
        take = (PetscBool)(!far || (far == 1 && kind > 2 && (turns == 1 || kind == 9 || kind == 27)) || kind == 125);
        if (kind == 13) take = (PetscBool)(turns < 2);
        if (kind == 2) take = (PetscBool)(!far || (i == 2 && (dim < 2 || j == -1)) || (i == -1 && !j && !k));
        if (!take) continue;
        offset[3 * n]       = i;
        offset[3 * n + 1]   = j;
        offset[3 * n++ + 2] = k;
      }
  for (PetscInt s = 0; reverse && s < n / 2; s++)
    for (int d = 0; d < 3; d++) {
      const PetscInt o = offset[3 * s + d];

      offset[3 * s + d]           = offset[3 * (n - 1 - s) + d];
      offset[3 * (n - 1 - s) + d] = o;
    }
  return n;
}

/* The same numbers up to rounding, NaN where there is NaN */
static void Same(const Array *y, const PetscScalar mine[], PetscReal tol, const char what[])
{
  PetscCount i, wrong = -1;

  for (i = 0; i < y->n + 2 * GUARD && wrong < 0; i++) {
    const PetscReal norm = PetscAbsScalar(y->all[i]), error = PetscAbsScalar(y->all[i] - mine[i]);

    if (norm != norm ? PetscAbsScalar(mine[i]) == PetscAbsScalar(mine[i]) : !(error <= tol)) wrong = i;
  }
  Check((PetscBool)(wrong < 0), what, (PetscInt)(wrong - GUARD));
}

typedef struct {
  PetscInt  dim, size[3], dof, kind;
  PetscBool open[3]; /* points around the box exist */
} Case;

/*
  Points around the box that exist, w of them on each side where it is open, lie in slabs as far as the stencil reaches
*/
static void Around(SpikeStencil *h, PetscInt w, const PetscBool open[3])
{
  for (int d = 0; d < 3; d++) {
    PetscInt low = 0, high = 0;

    for (PetscInt s = 0; s < h->count; s++) {
      low  = PetscMin(low, h->offset[3 * s + d]);
      high = PetscMax(high, h->offset[3 * s + d]);
    }
    h->lo[d]       = open[d] ? -w : 0;
    h->hi[d]       = h->size[d] + (open[d] ? w : 0);
    h->ibegin[d]   = open[d] ? PetscMin(-low, h->size[d]) : 0;
    h->iend[d]     = open[d] ? PetscMax(h->ibegin[d], h->size[d] - high) : h->size[d];
    h->shell.lo[d] = PetscMax(low, h->lo[d]);
    h->shell.hi[d] = PetscMin(h->size[d] + high, h->hi[d]);
  }
  SpikeStencilSetShell(h);
}

/* Whoever lends a stencil: what is around the box is there at once */
typedef struct {
  const PetscScalar *ghost;
  PetscInt           begun, ended;
} Owner;

static PetscErrorCode LoanBegin(void *owner, void *, const PetscScalar *, const PetscScalar **ghost)
{
  PetscFunctionBegin;
  ((Owner *)owner)->begun++;
  *ghost = ((Owner *)owner)->ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoanEnd(void *owner, void *, const PetscScalar *)
{
  PetscFunctionBegin;
  ((Owner *)owner)->ended++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pack() and unpack() by lists that turn the points round, every third one from the vector itself */
static PetscErrorCode TestLists(SpikeStencil *h, SpikeStencil *c, const Array *x, PetscInt n)
{
  PetscInt *list, *there;
  Array     out;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(3 * n, &list));
  for (PetscInt t = 0; t < n; t++) {
    list[t]         = (t * 5 + 3) % n;
    list[n + t]     = n - 1 - t;
    list[2 * n + t] = t % 3 ? t : -1 - t;
  }
  PetscCallCUDA(cudaMalloc((void **)&there, 3 * (size_t)n * sizeof(*there)));
  PetscCallCUDA(cudaMemcpy(there, list, 3 * (size_t)n * sizeof(*there), cudaMemcpyHostToDevice));
  PetscCall(Make((PetscCount)n * h->dof, &out));
  for (int k = 0; k < 3; k++) {
    PetscScalar *mine;

    PetscCall(PetscMalloc1(out.n + 2 * GUARD, &mine));
    for (PetscCount i = 0; i < out.n; i++) out.host[i] = NaN();
    PetscCall(Put(&out));
    PetscCall((*SpikeStencilKernels_CUDA.begin)(c));
    if (k == 0) {
      PetscCall((*SpikeStencilKernels_Host.pack)(h, n, list, x->host, out.host));
      PetscCall((*SpikeStencilKernels_CUDA.pack)(c, n, there, x->there + GUARD, out.there + GUARD));
      for (PetscInt t = 0; t < n; t++)
        Check((PetscBool)(out.host[t * h->dof] == x->host[list[t] * h->dof]), "pack()", t);
    } else { /* the second time nothing arrives */
      for (PetscInt t = 0; t < n && k == 2; t++) list[2 * n + t] = -1 - t;
      PetscCallCUDA(cudaMemcpy(there, list, 3 * (size_t)n * sizeof(*there), cudaMemcpyHostToDevice));
      PetscCall((*SpikeStencilKernels_Host.unpack)(h, n, list + n, list + 2 * n, x->host,
                                                   k == 1 ? x->host + h->dof : NULL, out.host));
      PetscCall((*SpikeStencilKernels_CUDA.unpack)(c, n, there + n, there + 2 * n, x->there + GUARD,
                                                   k == 1 ? x->there + GUARD + h->dof : NULL, out.there + GUARD));
      for (PetscInt t = 0; t < n; t++)
        Check((PetscBool)(out.host[(n - 1 - t) * h->dof] == x->host[(t + (k == 1 && t % 3 ? 1 : 0)) * h->dof]),
              "unpack()", t);
    }
    PetscCall((*SpikeStencilKernels_CUDA.end)(c));
    PetscCall(Get(&out, mine));
    Same(&out, mine, 0.0, k ? "unpack() on both" : "pack() on both");
    PetscCall(PetscFree(mine));
  }
  PetscCallCUDA(cudaFree(there));
  PetscCall(PetscFree(list));
  PetscCall(Drop(&out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where the points around the box are in slabs: the inside and the ends have the bits that they have with all points in
  one vector, and nothing else is read. x has w points around the box where it is open; y is on the host what `wanted`
  is on the device
*/
static PetscErrorCode TestEnds(SpikeStencil *h, SpikeStencil *c, PetscInt w, const PetscBool open[3], const Array *x,
                               PetscCount first, const PetscInt stride[2], const Array *y, const PetscScalar wanted[])
{
  Array        own, ghost, to;
  PetscScalar *mine;
  const int    dof = (int)h->dof;

  PetscFunctionBegin;
  Around(h, w, open);
  Around(c, w, open);
  PetscCall(Make(y->n, &own));
  PetscCall(Make(y->n, &to));
  PetscCall(Make(h->shell.n * dof, &ghost));
  for (PetscCount i = 0; i < ghost.n; i++) ghost.host[i] = NaN();
  for (PetscInt k = -w; k < h->size[2] + w; k++)
    for (PetscInt j = -w; j < h->size[1] + w; j++)
      for (PetscInt i = -w; i < h->size[0] + w; i++) {
        const PetscInt p[]  = {i, j, k};
        const int      slab = SpikeStencilSlab(h, i, j, k);
        PetscBool      in   = PETSC_TRUE;

        for (int d = 0; d < 3; d++)
          if (p[d] < h->shell.lo[d] || p[d] >= h->shell.hi[d]) in = PETSC_FALSE;
        if (!in) continue;
        for (int e = 0; e < dof; e++) {
          const PetscScalar v = x->host[first + (i + (PetscCount)j * stride[0] + (PetscCount)k * stride[1]) * dof + e];

          if (slab == 6)
            own.host[(i + (PetscCount)j * h->size[0] + (PetscCount)k * h->size[0] * h->size[1]) * dof + e] = v;
          else ghost.host[(h->shell.first[slab] + i + j * h->shell.sj[slab] + k * h->shell.sk[slab]) * dof + e] = v;
        }
      }
  for (PetscCount i = 0; i < ghost.n; i++)
    Check((PetscBool)(ghost.host[i] == ghost.host[i]), "a place of the shell that no point has", (PetscInt)i);
  PetscCall(Put(&own));
  PetscCall(Put(&ghost));
  for (PetscCount i = 0; i < to.n; i++) to.host[i] = NaN();
  PetscCall(Put(&to));
  PetscCall((*SpikeStencilKernels_Host.mult)(h, h->ibegin, h->iend, own.host, h->size[0], h->size[0] * h->size[1], NULL,
                                             to.host));
  PetscCall((*SpikeStencilKernels_Host.multends)(h, own.host, ghost.host, NULL, to.host));
  Check((PetscBool)!memcmp(to.host, y->host, (size_t)to.n * sizeof(PetscScalar)), "bits of the ends on the host", 0);
  PetscCall((*SpikeStencilKernels_CUDA.begin)(c));
  PetscCall((*SpikeStencilKernels_CUDA.mult)(c, c->ibegin, c->iend, own.there + GUARD, c->size[0],
                                             c->size[0] * c->size[1], NULL, to.there + GUARD));
  PetscCall((*SpikeStencilKernels_CUDA.multends)(c, own.there + GUARD, ghost.there + GUARD, NULL, to.there + GUARD));
  PetscCall((*SpikeStencilKernels_CUDA.end)(c));
  PetscCall(PetscMalloc1(to.n + 2 * GUARD, &mine));
  PetscCall(Get(&to, mine));
  Check((PetscBool)!memcmp(mine + GUARD, wanted + GUARD, (size_t)to.n * sizeof(*mine)), "bits of the ends", 0);
  PetscCall((*SpikeStencilKernels_Host.multends)(h, own.host, ghost.host, to.host, to.host));
  PetscCall((*SpikeStencilKernels_CUDA.multends)(c, own.there + GUARD, ghost.there + GUARD, to.there + GUARD,
                                                 to.there + GUARD));
  PetscCall(Get(&to, mine));
  Same(&to, mine, 20 * (h->count * dof + 2) * PETSC_MACHINE_EPSILON, "y = A x + y at the ends");
  if (SpikeStencilSize(h) / dof > 1) PetscCall(TestLists(h, c, &own, (PetscInt)(SpikeStencilSize(h) / dof - 1)));
  PetscCall(PetscFree(mine));
  PetscCall(Drop(&own));
  PetscCall(Drop(&to));
  PetscCall(Drop(&ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(SpikeStencil *h, SpikeStencil *c, const PetscInt begin[3], const PetscInt end[3], int z,
                              const Array *x, PetscCount first, const PetscInt stride[2], Array *y, const Array *before,
                              PetscScalar mine[], const char what[])
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < y->n; i++) y->host[i] = z == 2 ? before->host[i] : NaN();
  PetscCall(Put(y));
  PetscCall((*SpikeStencilKernels_Host.mult)(h, begin, end, x->host + first, stride[0], stride[1],
                                             z == 2 ? y->host : (z ? before->host : NULL), y->host));
  PetscCall((*SpikeStencilKernels_CUDA.begin)(c));
  PetscCall((*SpikeStencilKernels_CUDA.mult)(c, begin, end, x->there + GUARD + first, stride[0], stride[1],
                                             z == 2 ? y->there + GUARD : (z ? before->there + GUARD : NULL),
                                             y->there + GUARD));
  PetscCall((*SpikeStencilKernels_CUDA.end)(c));
  PetscCall(Get(y, mine));
  Same(y, mine, 10 * (h->count * h->dof + 2) * PETSC_MACHINE_EPSILON, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *t, PetscBool constant)
{
  const PetscInt w = 2, n = t->size[0] * t->size[1] * t->size[2];
  PetscInt       offset[3 * 125], ext[3], pad[3], stride[2], whole[3] = {0, 0, 0};
  SpikeStencil   h = {}, c;
  Array          x, y, z, a;
  PetscCount     first;
  PetscScalar   *coef, *mine, *bits;
  char           what[128];

  PetscFunctionBegin;
  h.count    = Offsets(t->kind, t->dim, (PetscBool)(t->kind % 4 == 3), offset);
  h.offset   = offset;
  h.dof      = t->dof;
  h.constant = constant;
  for (int d = 0; d < 3; d++) {
    h.size[d] = t->size[d];
    pad[d]    = t->open[d] ? w : 0;
    ext[d]    = t->size[d] + 2 * pad[d];
    h.lo[d]   = -pad[d];
    h.hi[d]   = t->size[d] + pad[d];
  }
  stride[0] = ext[0];
  stride[1] = ext[0] * ext[1];
  first     = (PetscCount)h.dof * (pad[0] + (PetscCount)pad[1] * stride[0] + (PetscCount)pad[2] * stride[1]);
  PetscCall(Make((PetscCount)ext[0] * ext[1] * ext[2] * h.dof, &x));
  PetscCall(Make(x.n, &a));
  PetscCall(Make((PetscCount)n * h.dof, &y));
  PetscCall(Make(y.n, &z));
  for (PetscCount i = 0; i < x.n; i++) x.host[i] = NumberAt(1, i);
  for (PetscCount i = 0; i < z.n; i++) z.host[i] = NumberAt(2, i);
  PetscCall(Put(&x));
  PetscCall(Put(&z));
  PetscCall(PetscMalloc1(SpikeStencilCoefs(&h), &coef));
  PetscCall(PetscMalloc1(PetscMax(x.n, y.n) + 2 * GUARD, &mine));
  PetscCall(PetscMalloc1(PetscMax(x.n, y.n) + 2 * GUARD, &bits));
  for (PetscCount i = 0; i < SpikeStencilCoefs(&h); i++) coef[i] = NumberAt(3, i);
  if (!constant) /* those of points that do not exist are not read */
    for (PetscInt p = 0; p < n; p++)
      for (PetscInt s = 0; s < h.count; s++) {
        const PetscInt q[] = {p % t->size[0], p / t->size[0] % t->size[1], p / t->size[0] / t->size[1]};

        for (int d = 0; d < 3; d++)
          if (q[d] + offset[3 * s + d] < h.lo[d] || q[d] + offset[3 * s + d] >= h.hi[d])
            for (PetscInt e = 0; e < h.dof * h.dof; e++)
              coef[SpikeStencilCoef(&h, s, e % h.dof, e / h.dof, p / t->size[0]) + (PetscCount)q[0] * h.dof] = NaN();
      }
  h.coef = coef;
  c      = h;
  PetscCall((*SpikeStencilKernels_CUDA.setup)(&c));
  PetscCall(PetscSNPrintf(what, sizeof(what), "mult"));
  PetscCall(Product(&h, &c, whole, t->size, 1, &x, first, stride, &y, &z, mine, "y = A x + z"));
  PetscCall(Product(&h, &c, whole, t->size, 2, &x, first, stride, &y, &z, mine, "y = A x + y"));
  PetscCall(Product(&h, &c, whole, t->size, 0, &x, first, stride, &y, &z, mine, "y = A x"));
  PetscCall(TestEnds(&h, &c, w, t->open, &x, first, stride, &y, mine));
  for (int d = 0; d < 3; d++) { /* two boxes have the bits of the whole one */
    PetscInt begin[3] = {0, 0, 0}, end[3] = {t->size[0], t->size[1], t->size[2]};

    begin[d] = end[d] = t->size[d] / 3;
    for (int e = 0; e < d; e++) {
      begin[e] = PetscMin(1, t->size[e]);
      end[e]   = PetscMax(begin[e], t->size[e] - 1);
    }
    PetscCall(Product(&h, &c, whole, end, 0, &x, first, stride, &y, &z, bits, "the box before"));
    for (PetscInt k = 0; k < end[2]; k++)
      for (PetscInt j = 0; j < end[1]; j++)
        for (PetscInt i = 0; i < end[0] * h.dof; i++) {
          const PetscCount at = GUARD + (PetscCount)(k * t->size[1] + j) * t->size[0] * h.dof + i;

          Check((PetscBool)!memcmp(&bits[at], &mine[at], sizeof(*bits)), "bits of the box before", (PetscInt)at);
        }
    end[d] = t->size[d];
    PetscCall(Product(&h, &c, begin, end, 0, &x, first, stride, &y, &z, bits, "the box after"));
    for (PetscInt k = begin[2]; k < end[2]; k++)
      for (PetscInt j = begin[1]; j < end[1]; j++)
        for (PetscInt i = begin[0] * h.dof; i < end[0] * h.dof; i++) {
          const PetscCount at = GUARD + (PetscCount)(k * t->size[1] + j) * t->size[0] * h.dof + i;

          Check((PetscBool)!memcmp(&bits[at], &mine[at], sizeof(*bits)), "bits of the box after", (PetscInt)at);
        }
  }
  for (int conjugate = 0; conjugate < 2; conjugate++) {
    for (PetscCount i = 0; i < a.n; i++) a.host[i] = NumberAt(4, i);
    PetscCall(Put(&a));
    PetscCall((*SpikeStencilKernels_Host.multtranspose)(&h, (PetscBool)conjugate, z.host, a.host + first, stride[0],
                                                        stride[1]));
    PetscCall((*SpikeStencilKernels_CUDA.multtranspose)(&c, (PetscBool)conjugate, z.there + GUARD,
                                                        a.there + GUARD + first, stride[0], stride[1]));
    PetscCall(Get(&a, mine));
    Same(&a, mine, 10 * (h.count * h.dof + 2) * PETSC_MACHINE_EPSILON, conjugate ? "y + A^H x" : "y + A^T x");
  }
  for (PetscInt s = 0; s<h.count; s += h.count> 1 ? h.count - 1 : 1) {
    for (PetscCount i = 0; i < y.n; i++) y.host[i] = NaN();
    PetscCall(Put(&y));
    PetscCall((*SpikeStencilKernels_Host.diagonal)(&h, s, y.host));
    PetscCall((*SpikeStencilKernels_CUDA.diagonal)(&c, s, y.there + GUARD));
    PetscCall(Get(&y, mine));
    Same(&y, mine, 0.0, "diagonal");
  }
  PetscCall((*SpikeStencilKernels_CUDA.reset)(&c));
  PetscCall(PetscFree(coef));
  PetscCall(PetscFree(mine));
  PetscCall(PetscFree(bits));
  PetscCall(Drop(&x));
  PetscCall(Drop(&a));
  PetscCall(Drop(&y));
  PetscCall(Drop(&z));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%ld points, %ld x %ld x %ld, %ld unknowns, %s coefficients%s%s%s",
                          (long)h.count, (long)t->size[0], (long)t->size[1], (long)t->size[2], (long)t->dof,
                          constant ? "constant" : "other", t->open[0] ? ", open in i" : "", t->open[1] ? ", in j" : "",
                          t->open[2] ? ", in k" : ""));
  EndOf(what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products by a stencil that is lent, on host and device */
typedef struct {
  SpikeKrylov  host, cuda;
  void        *copy[2];
  PetscInt     n;
  PetscReal    terms; /* of a row, for tolerances */
  Array        v[SPIKE_KRYLOV_MAXVECTORS], x, y, d;
  PetscScalar *mine, *bits; /* bits: of the product alone */
} Lent;

static PetscBool Near(const Lent *l, PetscScalar a, PetscScalar b)
{
  return (PetscBool)(PetscAbsScalar(a - b) <= 100 * PETSC_MACHINE_EPSILON * l->terms * l->terms * l->n);
}

/* A product with a step after it, against the host's; y is vector `own` of the step, and x the next one */
static PetscErrorCode TestStep(Lent *l, SpikeKrylovStep step, int own, bool scale)
{
  const SpikeKrylovStepInfo *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  PetscScalar               *vh[SPIKE_KRYLOV_MAXVECTORS], *vc[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < l->n; i++) l->y.host[i] = NaN();
  PetscCall(Put(&l->y));
  for (int j = 0; j < SPIKE_KRYLOV_MAXVECTORS; j++) {
    const Array *a = j == own ? &l->y : (j == own + 1 ? &l->x : &l->v[j]);

    vh[j] = a->host;
    vc[j] = a->there + GUARD;
  }
  PetscCall((*l->host.k->mult)(&l->host, l->copy[0], step, scale ? l->d.host : NULL, l->x.host, l->y.host, vh));
  PetscCall((*l->cuda.k->mult)(&l->cuda, l->copy[1], step, scale ? l->d.there + GUARD : NULL, l->x.there + GUARD,
                               l->y.there + GUARD, vc));
  PetscCall(Get(&l->y, l->mine));
  Same(&l->y, l->mine, 20 * l->terms * PETSC_MACHINE_EPSILON, info ? info->name : "the product alone");
  if (!scale)
    Check((PetscBool)!memcmp(l->mine + GUARD, l->bits + GUARD, l->n * sizeof(*l->mine)), "bits of the product", 0);
  if (!info) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*l->host.k->sums)(&l->host, step));
  PetscCall((*l->cuda.k->sums)(&l->cuda, step));
  for (PetscInt j = 0; j < info->ndots; j++) Check(Near(l, l->host.local[j], l->cuda.local[j]), info->name, j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with inner products of y after it: with as many columns, and where withz with x */
static PetscErrorCode TestColumns(Lent *l, PetscInt columns, bool withz)
{
  const SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0}; /* the host does not make it */
  PetscScalar             *A[8], sums[16];
  SpikeKrylovBasis         b = {};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < l->n; i++) l->y.host[i] = NaN();
  PetscCall(Put(&l->y));
  for (PetscInt j = 0; j < columns; j++) A[j] = l->v[j % SPIKE_KRYLOV_MAXVECTORS].there + GUARD;
  b.n    = l->n;
  b.last = columns;
  b.A    = A;
  b.y    = l->y.there + GUARD;
  b.z    = withz ? l->x.there + GUARD : NULL;
  PetscCall((*l->cuda.k->basismult)(&l->cuda, l->copy[1], l->x.there + GUARD, &b, &recurrence));
  PetscCall((*l->cuda.k->basissums)(&l->cuda, columns + (withz ? 3 : 1), sums));
  PetscCall(Get(&l->y, l->mine));
  Check((PetscBool)!memcmp(l->mine + GUARD, l->bits + GUARD, l->n * sizeof(*l->mine)),
        "bits of the product with columns", columns);
  for (PetscInt j = 0; j < columns + (withz ? 3 : 1); j++) {
    PetscScalar sum = 0.0;

    for (PetscInt i = 0; i < l->n; i++) {
      const PetscScalar yi = l->bits[GUARD + i], xi = l->x.host[i];

      if (j < columns) sum += PetscConj(l->v[j % SPIKE_KRYLOV_MAXVECTORS].host[i]) * yi;
      else sum += j == columns ? PetscConj(yi) * yi : (j == columns + 1 ? PetscConj(xi) * xi : PetscConj(yi) * xi);
    }
    Check(Near(l, sum, sums[j]), "inner products with columns", columns);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of products of n rows, and the backends */
static PetscErrorCode LentCreate(PetscInt n, PetscInt terms, Lent *l)
{
  PetscFunctionBegin;
  l->n     = n;
  l->terms = terms;
  PetscCall(Make(n, &l->x));
  PetscCall(Make(n, &l->y));
  PetscCall(Make(n, &l->d));
  for (PetscInt i = 0; i < n; i++) {
    l->x.host[i] = NumberAt(5, i);
    l->d.host[i] = NumberAt(6, i);
  }
  PetscCall(Put(&l->x));
  PetscCall(Put(&l->d));
  for (int k = 0; k < SPIKE_KRYLOV_MAXVECTORS; k++) {
    PetscCall(Make(n, &l->v[k]));
    for (PetscInt i = 0; i < n; i++) l->v[k].host[i] = NumberAt(7 + k, i);
    PetscCall(Put(&l->v[k]));
  }
  PetscCall(PetscMalloc2(n + 2 * GUARD, &l->mine, n + 2 * GUARD, &l->bits));
  l->host.k = &SpikeKrylovKernels_Host;
  l->cuda.k = &SpikeKrylovKernels_CUDA;
  PetscCall((*l->host.k->create)(&l->host));
  PetscCall((*l->cuda.k->create)(&l->cuda));
  memset((void *)l->host.scalars, 0, sizeof(*l->host.scalars));
  memset((void *)l->cuda.scalars, 0, sizeof(*l->cuda.scalars));
  PetscCall((*l->host.k->push)(&l->host, PETSC_FALSE));
  PetscCall((*l->cuda.k->push)(&l->cuda, PETSC_FALSE));
  l->cuda.ncolumns = 8;
  PetscCall((*l->cuda.k->basiscreate)(&l->cuda, 8, SpikeIDRSize(8)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LentDestroy(Lent *l)
{
  PetscFunctionBegin;
  PetscCall((*l->host.k->destroycopy)(&l->host, &l->copy[0]));
  PetscCall((*l->cuda.k->destroycopy)(&l->cuda, &l->copy[1]));
  PetscCall((*l->host.k->destroy)(&l->host));
  PetscCall((*l->cuda.k->destroy)(&l->cuda));
  for (int k = 0; k < SPIKE_KRYLOV_MAXVECTORS; k++) PetscCall(Drop(&l->v[k]));
  PetscCall(Drop(&l->x));
  PetscCall(Drop(&l->y));
  PetscCall(Drop(&l->d));
  PetscCall(PetscFree2(l->mine, l->bits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A product with each step that can be after it, with and without a diagonal matrix, against the host's; and y has the
  bits of the product alone
*/
static PetscErrorCode TestSteps(const Case *t, PetscBool constant)
{
  const SpikeKrylovStep steps[] = {SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA, SPIKE_BCGS_OMEGA_RHO,
                                   SPIKE_CG_ALPHA,   SPIKE_CG1_BETA,   SPIKE_KRYLOV_NSTEPS};
  const PetscInt        whole[] = {0, 0, 0};
  PetscInt              offset[3 * 125];
  SpikeStencil          h = {}, c;
  Lent                  l = {};
  Array                 ghost;
  Owner                 owner[2] = {};
  SpikeKrylovLoan       loans[2] = {};
  PetscScalar          *coef;
  char                  what[160];

  PetscFunctionBegin;
  h.count    = Offsets(t->kind, t->dim, PETSC_FALSE, offset);
  h.offset   = offset;
  h.dof      = t->dof;
  h.constant = constant;
  for (int k = 0; k < 3; k++) h.size[k] = t->size[k];
  Around(&h, 2, t->open);
  PetscCall(PetscMalloc1(SpikeStencilCoefs(&h), &coef));
  for (PetscCount i = 0; i < SpikeStencilCoefs(&h); i++) coef[i] = NumberAt(3, i);
  h.coef = coef;
  c      = h;
  PetscCall((*SpikeStencilKernels_CUDA.setup)(&c));
  PetscCall(LentCreate(t->size[0] * t->size[1] * t->size[2] * t->dof, h.count * h.dof + 2, &l));
  PetscCall(Make(h.shell.n * h.dof, &ghost));
  for (PetscCount i = 0; i < ghost.n; i++) ghost.host[i] = NumberAt(4, i);
  PetscCall(Put(&ghost));
  owner[0].ghost = ghost.host;
  owner[1].ghost = ghost.there + GUARD;
  for (int k = 0; k < 2 && ghost.n; k++) {
    loans[k].owner = (void *)&owner[k];
    loans[k].begin = LoanBegin;
    loans[k].end   = LoanEnd;
  }
  PetscCall((*l.host.k->borrowstencil)(&l.host, &h, &loans[0], &l.copy[0]));
  PetscCall((*l.cuda.k->borrowstencil)(&l.cuda, &c, &loans[1], &l.copy[1]));
  PetscCall(Put(&l.y));
  PetscCall((*SpikeStencilKernels_CUDA.begin)(&c));
  PetscCall((*SpikeStencilKernels_CUDA.mult)(&c, ghost.n ? c.ibegin : whole, ghost.n ? c.iend : c.size,
                                             l.x.there + GUARD, c.size[0], c.size[0] * c.size[1], NULL,
                                             l.y.there + GUARD));
  PetscCall((*SpikeStencilKernels_CUDA.multends)(&c, l.x.there + GUARD, ghost.there + GUARD, NULL, l.y.there + GUARD));
  PetscCall((*SpikeStencilKernels_CUDA.end)(&c));
  PetscCall(Get(&l.y, l.bits));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(steps); k++)
    for (int own = 0; own < 2; own++)
      for (int scale = 0; scale < 2; scale++) PetscCall(TestStep(&l, steps[k], own, scale != 0));
  for (PetscInt columns = 1; columns <= 8; columns++)
    for (int z = 0; z < 2; z++) PetscCall(TestColumns(&l, columns, z != 0));
  for (int k = 0; k < 2; k++)
    Check((PetscBool)(owner[k].begun == owner[k].ended && (owner[k].begun > 0) == (ghost.n > 0)), "halos of a loan",
          owner[k].begun);
  PetscCall(LentDestroy(&l));
  PetscCall((*SpikeStencilKernels_CUDA.reset)(&c));
  PetscCall(Drop(&ghost));
  PetscCall(PetscFree(coef));
  PetscCall(PetscSNPrintf(what, sizeof(what),
                          "steps after %ld points, %ld x %ld x %ld, %ld unknowns, %s coefficients%s", (long)h.count,
                          (long)t->size[0], (long)t->size[1], (long)t->size[2], (long)t->dof,
                          constant ? "constant" : "other", t->open[0] || t->open[1] || t->open[2] ? ", lent" : ""));
  EndOf(what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscBool no = PETSC_FALSE, yes = PETSC_TRUE;
  const Case      cases[] = {{1, {0, 1, 1}, 1, 3, {no, no, no}},        {1, {1, 1, 1}, 1, 3, {no, no, no}},
                             {1, {1, 1, 1}, 2, 13, {yes, no, no}},      {1, {301, 1, 1}, 1, 3, {yes, no, no}},
                             {1, {60, 1, 1}, 3, 2, {no, no, no}},       {2, {1, 40, 1}, 1, 5, {no, no, no}},
                             {2, {16, 16, 1}, 1, 5, {no, no, no}},      {2, {300, 35, 1}, 1, 5, {yes, no, no}},
                             {2, {37, 65, 1}, 1, 9, {no, yes, no}},     {2, {257, 17, 1}, 1, 9, {yes, yes, no}},
                             {2, {19, 21, 1}, 2, 9, {no, yes, no}},     {2, {19, 21, 1}, 1, 13, {yes, yes, no}},
                             {3, {3, 5, 7}, 1, 7, {no, no, no}},        {3, {16, 1, 16}, 1, 7, {no, no, no}},
                             {3, {51, 22, 33}, 1, 7, {no, no, no}},     {3, {33, 9, 18}, 1, 7, {yes, yes, yes}},
                             {3, {65, 17, 20}, 1, 27, {no, no, no}},    {3, {33, 21, 17}, 1, 27, {yes, no, yes}},
                             {3, {17, 2, 40}, 1, 27, {no, yes, no}},    {3, {7, 6, 5}, 2, 27, {no, yes, no}},
                             {3, {9, 8, 7}, 1, 125, {yes, no, no}},     {3, {11, 6, 7}, 3, 2, {yes, yes, yes}},
                             {3, {20, 7, 18}, 1, 13, {no, no, yes}},    {3, {18, 5, 17}, 1, 1, {no, no, no}},
                             {3, {251, 3, 16}, 1, 7, {no, yes, no}},    {3, {200, 40, 60}, 1, 27, {no, no, no}},
                             {3, {130, 130, 50}, 1, 7, {yes, yes, yes}}};
  const Case      steps[] = {{2, {50, 35, 1}, 1, 5, {no, no, no}},     {2, {37, 65, 1}, 1, 9, {no, no, no}},
                             {3, {51, 22, 33}, 1, 7, {no, no, no}},    {3, {33, 21, 17}, 1, 27, {no, no, no}},
                             {3, {7, 6, 5}, 2, 27, {no, no, no}},      {3, {11, 9, 8}, 1, 13, {no, no, no}},
                             {3, {1, 1, 1}, 1, 7, {no, no, no}},       {2, {37, 25, 1}, 1, 9, {no, yes, no}},
                             {3, {33, 21, 19}, 1, 27, {no, no, yes}},  {3, {20, 9, 18}, 1, 7, {no, no, yes}},
                             {3, {19, 7, 20}, 1, 27, {yes, yes, yes}}, {3, {7, 6, 5}, 2, 27, {no, yes, yes}},
                             {3, {2, 3, 4}, 1, 13, {yes, yes, yes}},   {3, {170, 70, 60}, 1, 27, {no, no, no}}};
  const size_t    nsteps  = PETSC_STATIC_ARRAY_LENGTH(steps);
  const size_t    all     = PETSC_STATIC_ARRAY_LENGTH(cases);
  PetscBool       small   = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  printf("1..%d\n", (int)(2 * (small ? all + nsteps - 3 : all + nsteps)));
  for (size_t k = 0; k < (small ? all - 2 : all); k++) {
    PetscCall(TestCase(&cases[k], PETSC_TRUE));
    PetscCall(TestCase(&cases[k], PETSC_FALSE));
  }
  for (size_t k = 0; k < (small ? nsteps - 1 : nsteps); k++) {
    PetscCall(TestSteps(&steps[k], PETSC_TRUE));
    PetscCall(TestSteps(&steps[k], PETSC_FALSE));
  }
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
