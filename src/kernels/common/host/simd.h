/* SPDX-License-Identifier: BSD-2-Clause */
/*
  simd.h: vectors of elements E in the widest registers of the instruction set that band_isa.c is compiled for; included
  once for each E.

  V(t) is the vector, V(W) its number of lanes, V(m) a mask of lanes. fnma(a, b, c) = c - a b is rounded once where the
  processor has fused multiply-add and twice elsewhere, for vectors and single elements alike: an element's bits do not
  depend on whether it went through a vector or through scalar code. Complex elements are vectors of one lane.

  Expects E (element), V(name) (prefix of names), VSUF(intrinsic) (adds pd or ps) and VINT (integer of the size of E).
*/
#if defined(PETSC_USE_COMPLEX)
typedef E   V(t);
typedef int V(m);
enum {
  V(W) = 1
};

SPIKE_INLINE E V(fnma1)(E a, E b, E c)
{
  return __builtin_complex(VFMA1(-__real__ a, __real__ b, VFMA1(__imag__ a, __imag__ b, __real__ c)),
                           VFMA1(-__real__ a, __imag__ b, VFMA1(-__imag__ a, __real__ b, __imag__ c)));
}

/* without the recovery of infinities of C's Annex G: as BLAS multiplies */
SPIKE_INLINE E V(mul1)(E a, E b)
{
  return __builtin_complex(VFMA1(__real__ a, __real__ b, -(__imag__ a * __imag__ b)),
                           VFMA1(__real__ a, __imag__ b, __imag__ a * __real__ b));
}

SPIKE_INLINE V(t) V(zero)(void)
{
  return 0;
}

SPIKE_INLINE V(t) V(set1)(E a)
{
  return a;
}

SPIKE_INLINE V(t) V(load)(const E *p)
{
  return *p;
}

SPIKE_INLINE void V(store)(E *p, V(t) v)
{
  *p = v;
}

SPIKE_INLINE V(t) V(fnma)(V(t) a, V(t) b, V(t) c)
{
  return V(fnma1)(a, b, c);
}

SPIKE_INLINE V(t) V(fnmam)(V(m) m, V(t) a, V(t) b, V(t) c)
{
  return m ? V(fnma1)(a, b, c) : c;
}

SPIKE_INLINE V(t) V(mul)(V(t) a, V(t) b)
{
  return V(mul1)(a, b);
}

SPIKE_INLINE void V(transpose)(V(t) v[]) { }

SPIKE_INLINE V(t) V(splat)(V(t) v, int lane)
{
  return v;
}

SPIKE_INLINE E V(lane)(V(t) v, int lane)
{
  return v;
}

SPIKE_INLINE E V(sum)(V(t) v)
{
  return v;
}

SPIKE_INLINE V(m) V(mask)(PetscCount lo, PetscCount hi)
{
  return lo <= 0 && hi >= 1;
}

SPIKE_INLINE V(m) V(maskto)(int hi)
{
  return hi >= 1;
}

SPIKE_INLINE V(m) V(maskfrom)(int lo)
{
  return lo <= 0;
}

SPIKE_INLINE V(t) V(select)(V(m) m, V(t) v)
{
  return m ? v : 0;
}

SPIKE_INLINE V(t) V(loadm)(const E *p, V(m) m)
{
  return m ? *p : 0;
}

SPIKE_INLINE void V(storem)(E *p, V(t) v, V(m) m)
{
  if (m) *p = v;
}

SPIKE_INLINE V(t) V(loadp)(const E *p, V(m) m)
{
  return V(loadm)(p, m);
}

SPIKE_INLINE void V(storep)(E *p, V(t) v, V(m) m)
{
  V(storem)(p, v, m);
}

#else
typedef E    V(t) __attribute__((vector_size(SPIKE_VBYTES)));
typedef E    V(u) __attribute__((vector_size(SPIKE_VBYTES), aligned(sizeof(E)), may_alias)); /* in memory, anywhere */
typedef VINT V(i) __attribute__((vector_size(SPIKE_VBYTES)));
enum {
  V(W) = SPIKE_VBYTES / sizeof(E)
};

SPIKE_INLINE E V(fnma1)(E a, E b, E c)
{
  return VFMA1(-a, b, c);
}

SPIKE_INLINE E V(mul1)(E a, E b)
{
  return a * b;
}

SPIKE_INLINE V(t) V(zero)(void)
{
  return (V(t)){0};
}

SPIKE_INLINE V(t) V(set1)(E a)
{
  #if defined(__AVX512F__) || defined(__AVX2__)
  return (V(t))VSUF(SPIKE_MM(set1))(a);
  #else
  return a - (V(t)){0};
  #endif
}

SPIKE_INLINE V(t) V(load)(const E *p)
{
  return *(const V(u) *)p;
}

SPIKE_INLINE void V(store)(E *p, V(t) v)
{
  *(V(u) *)p = v;
}

/* c - a b */
SPIKE_INLINE V(t) V(fnma)(V(t) a, V(t) b, V(t) c)
{
  #if defined(__AVX512F__) || defined(__AVX2__)
  return (V(t))VSUF(SPIKE_MM(fnmadd))(a, b, c);
  #elif defined(VFAST_FMA)
  for (int i = 0; i < V(W); i++) c[i] = VFMA1(-a[i], b[i], c[i]);
  return c;
  #else
  return c - a * b;
  #endif
}

SPIKE_INLINE V(t) V(mul)(V(t) a, V(t) b)
{
  return a * b;
}

/* all lanes <- one lane */
SPIKE_INLINE V(t) V(splat)(V(t) v, int lane)
{
  #if defined(__GNUC__) && !defined(__clang__)
  return __builtin_shuffle(v, (V(i)){0} + lane);
  #else
  return V(set1)(v[lane]);
  #endif
}

SPIKE_INLINE E V(lane)(V(t) v, int lane)
{
  return v[lane];
}

/* v_i[j] <-> v_j[i] for all W vectors, by exchanging blocks of 1, 2, 4, ... lanes */
SPIKE_INLINE void V(transpose)(V(t) v[])
{
  #if defined(__GNUC__) && !defined(__clang__)
  SPIKE_UNROLL
  for (int h = 1; h < V(W); h *= 2) {
    V(i) lo, hi;

    SPIKE_UNROLL
    for (int l = 0; l < V(W); l++) {
      lo[l] = l & h ? l - h + V(W) : l;
      hi[l] = l & h ? l + V(W) : l + h;
    }
    SPIKE_UNROLL
    for (int i = 0; i < V(W); i++) {
      if (!(i & h)) {
        const V(t) a = v[i], b = v[i + h];

        v[i]     = __builtin_shuffle(a, b, lo);
        v[i + h] = __builtin_shuffle(a, b, hi);
      }
    }
  }
  #else
  E s[V(W)][V(W)];

  for (int i = 0; i < V(W); i++)
    for (int l = 0; l < V(W); l++) s[l][i] = v[i][l];
  for (int i = 0; i < V(W); i++) v[i] = V(load)(s[i]);
  #endif
}

/* sum of the lanes by halves, always in the same order */
SPIKE_INLINE E V(sum)(V(t) v)
{
  E s[V(W)];

  V(store)(s, v);
  for (int h = V(W) / 2; h > 0; h /= 2)
    for (int i = 0; i < h; i++) s[i] += s[i + h];
  return s[0];
}

  #if defined(__AVX512F__)
typedef unsigned int V(m);
/* lanes < hi, and lanes >= lo, none and all beyond the ends */
SPIKE_INLINE V(m) V(maskto)(int hi)
{
  return (V(m))_bzhi_u32(~0u, (unsigned int)PetscMax(0, hi));
}

SPIKE_INLINE V(m) V(maskfrom)(int lo)
{
  return (V(m)) ~_bzhi_u32(~0u, (unsigned int)PetscMax(0, lo));
}

SPIKE_INLINE V(t) V(select)(V(m) m, V(t) v)
{
  return (V(t))VSUF(_mm512_maskz_mov)(m, v);
}

SPIKE_INLINE V(t) V(loadm)(const E *p, V(m) m)
{
  return (V(t))VSUF(_mm512_maskz_loadu)(m, p);
}

SPIKE_INLINE void V(storem)(E *p, V(t) v, V(m) m)
{
  VSUF(_mm512_mask_storeu)(p, m, v);
}
/* c - a b in the lanes of the mask, c in the others */
SPIKE_INLINE V(t) V(fnmam)(V(m) m, V(t) a, V(t) b, V(t) c)
{
  return (V(t))VSUF(_mm512_mask3_fnmadd)(a, b, c, m);
}

  #else
typedef V(i) V(m);
typedef VINT V(iu) __attribute__((vector_size(SPIKE_VBYTES), aligned(sizeof(VINT)), may_alias));
static const VINT V(ones)[2 * SPIKE_VBYTES / sizeof(VINT)] = {SPIKE_ONES};

/* lanes < hi, and lanes >= lo, none and all beyond the ends */
SPIKE_INLINE V(m) V(maskto)(int hi)
{
  return *(const V(iu) *)(V(ones) + V(W) - PetscMax(0, PetscMin(V(W), hi)));
}

SPIKE_INLINE V(m) V(maskfrom)(int lo)
{
  return ~V(maskto)(lo);
}

/* v in the lanes of the mask, 0 in the others */
SPIKE_INLINE V(t) V(select)(V(m) m, V(t) v)
{
  return (V(t))(m & (V(i))v);
}

SPIKE_INLINE V(t) V(fnmam)(V(m) m, V(t) a, V(t) b, V(t) c)
{
  return (V(t))((m & (V(i))V(fnma)(a, b, c)) | (~m & (V(i))c));
}

/* nothing outside the mask is touched */
SPIKE_INLINE V(t) V(loadm)(const E *p, V(m) m)
{
    #if defined(__AVX2__)
  return (V(t))VSUF(_mm256_maskload)(p, (__m256i)m);
    #else
  V(t) v = {0};

  for (int i = 0; i < V(W); i++)
    if (m[i]) v[i] = p[i];
  return v;
    #endif
}

SPIKE_INLINE void V(storem)(E *p, V(t) v, V(m) m)
{
    #if defined(__AVX2__)
  VSUF(_mm256_maskstore)(p, (__m256i)m, v);
    #else
  for (int i = 0; i < V(W); i++)
    if (m[i]) p[i] = v[i];
    #endif
}
  #endif

/* lanes lo <= lane < hi */
SPIKE_INLINE V(m) V(mask)(PetscCount lo, PetscCount hi)
{
  return V(maskto)((int)PetscMax(0, PetscMin((PetscCount)V(W), hi))) &
         V(maskfrom)((int)PetscMax(0, PetscMin((PetscCount)V(W), lo)));
}

/*
  The same for arrays with pads: elements outside the mask may be read, and written back as they are. AVX2 has masked
  stores, but they are slow on many processors; for two or four lanes a loop is as good.
*/
SPIKE_INLINE V(t) V(loadp)(const E *p, V(m) m)
{
  #if defined(__AVX2__) && !defined(__AVX512F__)
  return V(select)(m, V(load)(p));
  #else
  return V(loadm)(p, m);
  #endif
}

SPIKE_INLINE void V(storep)(E *p, V(t) v, V(m) m)
{
  #if defined(__AVX2__) && !defined(__AVX512F__)
  V(store)(p, (V(t))((m & (V(i))v) | (~m & (V(i))V(load)(p))));
  #else
  V(storem)(p, v, m);
  #endif
}
#endif
