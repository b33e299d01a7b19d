/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis.h: the host loops over the basis steps of a Krylov method, for one instruction set; included after template.h.

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

/* The same of a column of COMBINE or UPDATE; i is a multiple of KB_ROWS, which are whole tiles */
SPIKE_INLINE const PetscScalar *kb_rows(const SpikeKrylovBasis *b, const PetscScalar *column, PetscInt i, PetscInt m,
                                        PetscScalar *room)
{
  const PetscInt parts = m * SPIKE_REAL48_PARTS, whole = SpikeReal48Rows(m) * SPIKE_REAL48_PARTS;
  const char    *tile = (const char *)column + (size_t)i * SPIKE_REAL48_PARTS / SPIKE_REAL48_TILE * SPIKE_REAL48_BYTES;
  PetscReal     *out  = (PetscReal *)room;

  if (!b->narrow) return column + i;
  for (PetscInt t = 0; t < whole; t += SPIKE_REAL48_TILE, tile += SPIKE_REAL48_BYTES) {
    const unsigned int   *high = (const unsigned int *)tile;
    const unsigned short *low  = (const unsigned short *)(high + SPIKE_REAL48_TILE);
    unsigned long long    bits[SPIKE_REAL48_TILE];
    double                v[SPIKE_REAL48_TILE];

    for (PetscInt l = 0; l < SPIKE_REAL48_TILE; l++)
      bits[l] = (unsigned long long)high[l] << 32 | (unsigned long long)low[l] << 16;
    memcpy(v, bits, sizeof(v));
    for (PetscInt l = 0; l < SPIKE_REAL48_TILE; l++) out[t + l] = (PetscReal)v[l];
  }
  memcpy(out + whole, tile, (size_t)(parts - whole) * sizeof(*out));
  return room;
}

/* Rows i to i + m - 1 of a column <- y */
SPIKE_INLINE void kb_round(PetscInt i, PetscInt m, const PetscScalar *y, void *column)
{
  const PetscInt   parts = m * SPIKE_REAL48_PARTS, whole = SpikeReal48Rows(m) * SPIKE_REAL48_PARTS;
  char            *tile = (char *)column + (size_t)i * SPIKE_REAL48_PARTS / SPIKE_REAL48_TILE * SPIKE_REAL48_BYTES;
  const PetscReal *in   = (const PetscReal *)y;

  for (PetscInt t = 0; t < whole; t += SPIKE_REAL48_TILE, tile += SPIKE_REAL48_BYTES) {
    unsigned int      *high = (unsigned int *)tile;
    unsigned short    *low  = (unsigned short *)(high + SPIKE_REAL48_TILE);
    unsigned long long bits[SPIKE_REAL48_TILE];
    double             v[SPIKE_REAL48_TILE];

    for (PetscInt l = 0; l < SPIKE_REAL48_TILE; l++) v[l] = (double)in[t + l];
    memcpy(bits, v, sizeof(v));
    for (PetscInt l = 0; l < SPIKE_REAL48_TILE; l++) {
      const unsigned long long rounded = bits[l] + 0x7fff + (bits[l] >> 16 & 1);

      high[l] = (unsigned int)(rounded >> 32);
      low[l]  = (unsigned short)(rounded >> 16);
    }
  }
  memcpy(tile, in + whole, (size_t)(parts - whole) * sizeof(*in));
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
  PetscScalar       room[KB_ROWS];

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
      if (b->A) kb_axpy(m, -LANES_MUL(a, b->c[j]), kb_rows(b, b->A[b->first + j], i, m, room), y);
      if (b->B && (j || !over)) kb_axpy(m, b->c[j], kb_rows(b, b->B[b->first + j], i, m, room), y);
    }
  }
}

static void SPIKE_PASTE3(kb_update, loop, SPIKE_ISA)(const SpikeKrylovBasis *b, PetscScalar sums[])
{
  const PetscInt    k = b->last - b->first;
  const PetscScalar a = b->x ? *b->a : (PetscScalar)0.0;
  PetscScalar       room[KB_ROWS], newy[KB_ROWS], newz[KB_ROWS];

  for (PetscInt j = 0; j < (b->q ? 4 : 1); j++) sums[j] = 0.0;
  KB_CHUNKS(b)
  {
    PetscScalar *y = b->y + i, *z = b->z + i;

    if (b->Y) {
      memcpy(newy, y, m * sizeof(*y));
      memcpy(newz, z, m * sizeof(*z));
      y = newy;
      z = newz;
    }
    for (PetscInt j = 0; j < k; j++) {
      kb_axpy(m, -b->c[j], kb_rows(b, b->A[b->first + j], i, m, room), z);
      kb_axpy(m, -b->c[j], kb_rows(b, b->B[b->first + j], i, m, room), y);
    }
    if (b->Y) {
      kb_round(i, m, y, b->Y);
      kb_round(i, m, z, b->Z);
    }
    if (b->x) {
      PetscScalar *r = b->r + i;

      if (b->q) kb_nearer(m, *b->g, r, b->q + i, b->x + i, b->p + i);
      kb_axpy(m, a, y, b->x + i);
      kb_axpy(m, -a, z, r);
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
