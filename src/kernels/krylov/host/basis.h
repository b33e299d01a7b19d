/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis.h: the host loops over the basis steps of a Krylov method, for one instruction set; included after template.h
  and narrow.h.

  Rows are taken KB_ROWS at a time, so that the vectors which all columns meet stay in cache and each vector comes from
  memory once.
*/
#define KB_ROWS 1024

/* conj(x) y */
SPIKE_INLINE PetscScalar kb_dot(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  lanes_t     d[4];
  PetscScalar sum = 0.0, lane[4][LANES];
  PetscInt    i   = 0;

  memset(d, 0, sizeof(d));
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    SPIKE_UNROLL for (int k = 0; k < 4; k++)
      d[k] += LANES_DOT(*(const lanes_t *)(x + i + k * LANES), *(const lanes_t *)(y + i + k * LANES));
  }
  for (; i < n; i++) sum += LANES_DOT(x[i], y[i]);
  memcpy(lane, d, sizeof(d));
  for (int l = 0; l < LANES; l++) sum += (lane[0][l] + lane[1][l]) + (lane[2][l] + lane[3][l]);
  return sum;
}

/* y <- y + a x */
SPIKE_INLINE void kb_axpy(PetscInt n, PetscScalar a, const PetscScalar *x, PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++) y[i] += LANES_MUL(a, x[i]);
}

/* q -= g (q - r); p -= g (p - x) */
SPIKE_INLINE void kb_nearer(PetscInt n, PetscScalar g, const PetscScalar *r, PetscScalar *q, const PetscScalar *x,
                            PetscScalar *p)
{
  for (PetscInt i = 0; i < n; i++) {
    q[i] -= LANES_MUL(g, q[i] - r[i]);
    p[i] -= LANES_MUL(g, p[i] - x[i]);
  }
}

/* Rows i to i + m - 1 of a vector of DOTS, in `room` where it is narrow */
SPIKE_INLINE const PetscScalar *kb_shadow(const SpikeKrylovBasis *b, const PetscScalar *column, PetscInt i, PetscInt m,
                                          PetscScalar *room)
{
  const SpikeHalf *low = (const SpikeHalf *)column + i;

  if (!b->narrow) return column + i;
  for (PetscInt l = 0; l < m; l++) room[l] = kn_one_bf16(low + l);
  return room;
}

#define KB_CHUNKS(b) for (PetscInt i = 0, m; m = PetscMin((PetscInt)KB_ROWS, (b)->n - i), i < (b)->n; i += KB_ROWS)

static void SPIKE_PASTE3(kb_dots, loop, SPIKE_ISA)(const SpikeKrylovBasis *b, PetscScalar sums[])
{
  const PetscInt k = b->last - b->first;
  PetscScalar    room[KB_ROWS];

  for (PetscInt j = 0; j < k + (b->z ? 3 : 1); j++) sums[j] = 0.0;
  KB_CHUNKS(b)
  {
    for (PetscInt j = 0; j < k; j++) sums[j] += kb_dot(m, kb_shadow(b, b->A[b->first + j], i, m, room), b->y + i);
    sums[k] += kb_dot(m, b->y + i, b->y + i);
    if (b->z) {
      sums[k + 1] += kb_dot(m, b->z + i, b->z + i);
      sums[k + 2] += kb_dot(m, b->y + i, b->z + i);
    }
  }
}

static void SPIKE_PASTE3(kb_combine, loop, SPIKE_ISA)(const SpikeKrylovBasis *b, PetscScalar sums[])
{
  const PetscInt    k = b->last - b->first;
  const PetscScalar a = b->a ? *b->a : (PetscScalar)1.0;

  KB_CHUNKS(b)
  {
    PetscScalar       *y    = b->y + i;
    const PetscScalar *r    = b->r + i;
    const PetscBool    over = (PetscBool)(k && b->B && b->B[b->first] == b->y);

    if (over) {
      for (PetscInt l = 0; l < m; l++) y[l] = LANES_MUL(b->c[0], y[l]) + LANES_MUL(a, r[l]);
    } else {
      for (PetscInt l = 0; l < m; l++) y[l] = LANES_MUL(a, r[l]);
    }
    for (PetscInt j = 0; j < k; j++) {
      if (b->A) kb_axpy(m, -LANES_MUL(a, b->c[j]), b->A[b->first + j] + i, y);
      if (b->B && (j || !over)) kb_axpy(m, b->c[j], b->B[b->first + j] + i, y);
    }
  }
}

static void SPIKE_PASTE3(kb_update, loop, SPIKE_ISA)(const SpikeKrylovBasis *b, PetscScalar sums[])
{
  const PetscInt    k = b->last - b->first;
  const PetscScalar a = b->x ? *b->a : (PetscScalar)0.0;

  for (PetscInt j = 0; j < (b->q ? 4 : 1); j++) sums[j] = 0.0;
  KB_CHUNKS(b)
  {
    for (PetscInt j = 0; j < k; j++) {
      kb_axpy(m, -b->c[j], b->A[b->first + j] + i, b->z + i);
      kb_axpy(m, -b->c[j], b->B[b->first + j] + i, b->y + i);
    }
    if (b->x) {
      PetscScalar *r = b->r + i;

      if (b->q) kb_nearer(m, *b->g, r, b->q + i, b->x + i, b->p + i);
      kb_axpy(m, a, b->y + i, b->x + i);
      kb_axpy(m, -a, b->z + i, r);
      if (b->q) {
        PetscScalar d[KB_ROWS];

        for (PetscInt l = 0; l < m; l++) d[l] = b->q[i + l] - r[l];
        sums[0] += kb_dot(m, d, b->q + i);
        sums[1] += kb_dot(m, d, d);
        sums[2] += kb_dot(m, b->q + i, b->q + i);
        sums[3] += kb_dot(m, r, r);
      } else sums[0] += kb_dot(m, r, r);
    }
  }
}

static void SPIKE_PASTE3(kb_smooth, loop, SPIKE_ISA)(const SpikeKrylovBasis *b, PetscScalar sums[])
{
  sums[0] = 0.0;
  KB_CHUNKS(b)
  {
    kb_nearer(m, *b->g, b->r + i, b->q + i, b->x + i, b->p + i);
    sums[0] += kb_dot(m, b->q + i, b->q + i);
  }
}

const SpikeKrylovBasisLoop SPIKE_PASTE2(SpikeKrylovBasisLoops_, SPIKE_ISA)[SPIKE_KRYLOV_NBASISSTEPS] =
  {SPIKE_PASTE3(kb_dots, loop, SPIKE_ISA), SPIKE_PASTE3(kb_combine, loop, SPIKE_ISA),
   SPIKE_PASTE3(kb_update, loop, SPIKE_ISA), SPIKE_PASTE3(kb_smooth, loop, SPIKE_ISA)};
#undef KB_CHUNKS
#undef KB_ROWS
