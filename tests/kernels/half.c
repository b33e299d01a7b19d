/* SPDX-License-Identifier: BSD-2-Clause */
/*
  half.c: tests of the conversions between single precision and 16 bits, against the definitions of the formats; prints
  TAP
*/
static char help
  [] = "Tests of src/kernels/host/half.h: all numbers of 16 bits, and single precision around and between them.\n\n";

#include "kernels/common/host/half.h"
#include <float.h>
#include <math.h>

static PetscInt number = 0, failed = 0;

static void Report(const char *what, const char *format, PetscInt ncases, PetscInt nbad)
{
  if (nbad || !ncases) failed++;
  printf("%s %d - %s: %s # %" PetscInt_FMT " cases, %" PetscInt_FMT " bad\n", nbad || !ncases ? "not ok" : "ok",
         (int)++number, format, what, ncases, nbad);
}

typedef struct {
  const char *name;
  /* bits after the point; exponents of the smallest and of the largest normal numbers */
  int digits, emin, emax;
  float (*from)(unsigned short);
  unsigned short (*to)(float);
} Format;

/*
  The magnitude of bits without a sign; after the largest finite number, the one that would follow, which is where
  infinity begins to be nearest
*/
static double Value(const Format *f, int bits)
{
  const int e = bits >> f->digits, m = bits & ((1 << f->digits) - 1);

  return e ? ldexp((1 << f->digits) + m, f->emin - f->digits + e - 1) : ldexp(m, f->emin - f->digits);
}

static void Test(const Format *f)
{
  const int infinite = (f->emax - f->emin + 2) << f->digits;
  PetscInt  n[6] = {0}, bad[6] = {0};

  for (int s = 0; s < 2; s++) {
    const int   sign = s << 15;
    const float pm   = s ? -1.0f : 1.0f;

    for (int h = 0; h < 0x8000; h++) {
      const float v = f->from((unsigned short)(h | sign));

      n[0]++;
      if (h < infinite    ? v != pm * (float)Value(f, h) || !signbit(v) != !s
          : h == infinite ? !isinf(v) || !signbit(v) != !s
                          : !isnan(v))
        bad[0]++;
      n[1]++;
      if (h > infinite ? !isnan(f->from(f->to(v))) : f->to(v) != (h | sign)) bad[1]++;
      if (h >= infinite) continue;
      /* between it and the next one: the middle goes to the even one, everything else to the nearest */
      const double   middle = (Value(f, h) + Value(f, h + 1)) / 2;
      const float    m      = (float)middle;
      unsigned short to[3];

      n[2]++;
      if ((double)m != middle) bad[2]++; /* single precision has all of them, or the test means nothing */
      to[0] = f->to(pm * nextafterf(m, 0.0f));
      to[1] = f->to(pm * m);
      to[2] = f->to(pm * nextafterf(m, INFINITY));
      if (to[0] != (h | sign) || to[1] != ((h & 1 ? h + 1 : h) | sign) || to[2] != ((h + 1) | sign)) bad[2]++;
    }
    n[3]++;
    if (f->to(pm * INFINITY) != (infinite | sign) || !isnan(f->from(f->to(pm * NAN)))) bad[3]++;
    n[3]++;
    if (f->to(pm * FLT_MAX) != (infinite | sign) || f->to(pm * FLT_TRUE_MIN) != sign) bad[3]++;
  }
  n[3]++;
  /* NaN in the last bit, and in all */
  if (!isnan(f->from(f->to(SpikeFloatOfBits(0x7F800001)))) || !isnan(f->from(f->to(SpikeFloatOfBits(0xFFFFFFFF)))))
    bad[3]++;
  /* monotonic, over all numbers of single precision in steps */
  for (unsigned int b = 0, last = 0; b <= 0x7F800000; b += 997) {
    const unsigned int h = f->to(SpikeFloatOfBits(b));

    n[4]++;
    if (h < last) bad[4]++;
    last = h;
  }
#if defined(__FLT16_MAX__)
  /* and as the compiler does it */
  if (f->digits == 10) {
    for (unsigned int b = 0; b <= 0x7F800000; b += 991) {
      const _Float16       c = (_Float16)SpikeFloatOfBits(b);
      const unsigned short h = f->to(SpikeFloatOfBits(b));

      n[5]++;
      if (memcmp(&c, &h, sizeof(h))) bad[5]++;
    }
  }
#endif
  Report("all numbers of 16 bits have their values", f->name, n[0], bad[0]);
  Report("there and back", f->name, n[1], bad[1]);
  Report("to the nearest, ties to even", f->name, n[2], bad[2]);
  Report("infinite, too large, too small, not a number", f->name, n[3], bad[3]);
  Report("monotonic", f->name, n[4], bad[4]);
  if (n[5]) Report("as the compiler", f->name, n[5], bad[5]);
}

int main(int argc, char **argv)
{
  const Format formats[] = {{"bf16", 7, -126, 127, SpikeFromBF16, SpikeToBF16},
                            {"fp16", 10, -14, 15, SpikeFromFP16, SpikeToFP16}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(formats); k++) Test(&formats[k]);
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
