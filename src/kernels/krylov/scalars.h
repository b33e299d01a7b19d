/* SPDX-License-Identifier: BSD-2-Clause */
/*
  scalars.h: the scalars of a fused Krylov method, and their recurrences: the same text for the host and for the device
  (C99 and CUDA C++, real and complex)
*/
#pragma once

#include "kernels/common/types.h"
#include <petscksp.h>

/*
  Steps of the methods: X(ID, name, vectors, read, written, dots, flops), where read and written are masks over the
  vectors, in the order of steps.h, which has the formulas. A step with dots ends in SpikeKrylovRecur() of their sums
  over all ranks.

    bcgs_start      rp = p = r;                 r.r                            3 words a row
    bcgs_p          p = r + beta (p - omega v)                                 4
    bcgs_alpha      rp.v  v.v                                                  2
    bcgs_s          s = r - alpha v, over r                                    3
    bcgs_omega      t.s  t.t  s.s                                              2
    bcgs_x          x += alpha p + omega s;  r = s - omega t;  rp.r  r.r       7
    bcgs_omega_rho  t.s  t.t  s.s  rp.s  rp.t                                  3
    bcgs_xp         as bcgs_x, then p = r + beta (p - omega v);  r.r           8
    bcgs_rho        rp.r  r.r, of a residual that was replaced                 2

    diagonal        y = d x, with a diagonal matrix d                          3

  In steps of CG z.r, p.w and z.s are without conjugates where f.symmetric is 1.

    cg_start        p = z;                      z.r  z.z  r.r                  3
    cg_alpha        p.w                                                        2
    cg_x            x += alpha p;  r -= alpha w                                6
    cg_xr           as cg_x;                    r.r                            6
    cg_beta         z.r  z.z  r.r                                              2
    cg_xz           as cg_x, then z = d r;      z.r  z.z  r.r                  8
    cg_p            p = z + beta p                                             3

  The same where the update of x is one step late, so that p is read once for both:

    cg_r            r -= alpha w                                               3
    cg_rbeta        as cg_beta                                                 2
    cg_rs           as cg_r;  z.r  z.z  r.r  with z = scale r, not kept        3
    cg_rd           the same with z = d r                                      4
    cg_xp           x += lag p, then p = z + beta p                            5
    cg_xps          the same with z = scale r                                  5
    cg_xpd          the same with z = d r                                      6
    cg_settle       x += lag p, also after a reason; its sum means nothing     3

    cg_rho          as cg_beta, of a residual that was replaced                2
    cg1_start       p = z;  w = s;              z.r  z.s  z.z  r.r             5
    cg1_x           p = z + beta p;  w = s + beta w;  x += alpha p;  r -= alpha w  10
    cg1_beta        z.r  z.s  z.z  r.r                                         3

  Of a solution that is checked, where r has A x; no recurrence follows:

    residual        r = b - r;                  r.r  x.x  b.b                  4
*/
#define SPIKE_KRYLOV_STEPS(X) \
  X(BCGS_START, bcgs_start, 3, 0x01, 0x06, 1, 2) \
  X(BCGS_P, bcgs_p, 3, 0x07, 0x04, 0, 4) \
  X(BCGS_ALPHA, bcgs_alpha, 2, 0x03, 0x00, 2, 4) \
  X(BCGS_S, bcgs_s, 2, 0x03, 0x02, 0, 2) \
  X(BCGS_OMEGA, bcgs_omega, 2, 0x03, 0x00, 3, 6) \
  X(BCGS_X, bcgs_x, 5, 0x1f, 0x18, 2, 10) \
  X(BCGS_OMEGA_RHO, bcgs_omega_rho, 3, 0x07, 0x00, 5, 10) \
  X(BCGS_XP, bcgs_xp, 5, 0x1f, 0x1c, 1, 12) \
  X(BCGS_RHO, bcgs_rho, 2, 0x03, 0x00, 2, 4) \
  X(DIAGONAL, diagonal, 3, 0x03, 0x04, 0, 1) \
  X(CG_START, cg_start, 3, 0x03, 0x04, 3, 6) \
  X(CG_ALPHA, cg_alpha, 2, 0x03, 0x00, 1, 2) \
  X(CG_X, cg_x, 4, 0x0f, 0x0c, 0, 4) \
  X(CG_XR, cg_xr, 4, 0x0f, 0x0c, 1, 6) \
  X(CG_BETA, cg_beta, 2, 0x03, 0x00, 3, 6) \
  X(CG_XZ, cg_xz, 6, 0x1f, 0x38, 3, 11) \
  X(CG_P, cg_p, 2, 0x03, 0x02, 0, 2) \
  X(CG_R, cg_r, 2, 0x03, 0x02, 0, 2) \
  X(CG_RBETA, cg_rbeta, 2, 0x03, 0x00, 3, 6) \
  X(CG_RS, cg_rs, 2, 0x03, 0x02, 3, 9) \
  X(CG_RD, cg_rd, 3, 0x07, 0x04, 3, 9) \
  X(CG_XP, cg_xp, 3, 0x07, 0x06, 0, 4) \
  X(CG_XPS, cg_xps, 3, 0x07, 0x06, 0, 5) \
  X(CG_XPD, cg_xpd, 4, 0x0f, 0x0c, 0, 5) \
  X(CG_SETTLE, cg_settle, 2, 0x03, 0x02, 1, 2) \
  X(CG_RHO, cg_rho, 2, 0x03, 0x00, 3, 6) \
  X(CG1_START, cg1_start, 5, 0x07, 0x18, 4, 8) \
  X(CG1_X, cg1_x, 6, 0x3f, 0x3c, 0, 8) \
  X(CG1_BETA, cg1_beta, 3, 0x07, 0x00, 4, 8) \
  X(RESIDUAL, residual, 3, 0x07, 0x04, 3, 7)

/* Steps with a diagonal matrix: X(ID, name, which vector it is) */
#define SPIKE_KRYLOV_DIAGONALS(X) \
  X(DIAGONAL, diagonal, 0) \
  X(CG_XZ, cg_xz, 2) \
  X(CG_RD, cg_rd, 1) \
  X(CG_XPD, cg_xpd, 1)

typedef enum {
#define SPIKE_KRYLOV_NAME(ID, ...) SPIKE_##ID,
  SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_NAME)
#undef SPIKE_KRYLOV_NAME
  SPIKE_KRYLOV_NSTEPS
} SpikeKrylovStep;

/* Which vector of a step is a diagonal matrix, or -1 */
static inline int SpikeKrylovDiagonal(int step)
{
  switch (step) {
#define SPIKE_KRYLOV_DIAGONAL_CASE(ID, name, D) \
  case SPIKE_##ID: \
    return D;
    SPIKE_KRYLOV_DIAGONALS(SPIKE_KRYLOV_DIAGONAL_CASE)
#undef SPIKE_KRYLOV_DIAGONAL_CASE
  default:
    return -1;
  }
}

#define SPIKE_KRYLOV_MAXVECTORS 6
#define SPIKE_KRYLOV_MAXDOTS    5

/*
  What the device does about convergence: nothing (the host runs in lockstep), KSPConvergedDefault(), KSPConvergedSkip()
*/
typedef enum {
  SPIKE_KRYLOV_TEST_HOST,
  SPIKE_KRYLOV_TEST_DEFAULT,
  SPIKE_KRYLOV_TEST_SKIP
} SpikeKrylovTestType;

/* A reason beside those of PETSc: the recurrences broke down, and a new start from the residual may help */
#define SPIKE_KRYLOV_RESTART (-100)

/*
  A scalar in a structure that C and CUDA both see: a complex number is aligned to its size in CUDA C++, to half of it
  in C, so that members of type PetscScalar would lie at different places
*/
typedef PetscScalar SpikeScalar __attribute__((aligned(sizeof(PetscScalar))));

/* Written by the host between iterations, when the device waits */
typedef struct {
  int       test; /* SpikeKrylovTestType                                                        */
  int       norm; /* KSPNormType                                                                */
  PetscReal ttol, abstol, dtol;
  PetscInt  minit, chknorm;
} SpikeKrylovTest;

/* Factors of the vectors in steps.h */
typedef struct {
  SpikeScalar alpha, beta, omega;
  SpikeScalar scale, lag; /* cg: B = scale I; alpha of the step that x lags by, else 0 */
  PetscReal   symmetric;  /* cg: 1 where A and B are complex symmetric, 0 where they are Hermitian */
} SpikeKrylovFactors;

typedef struct {
  SpikeKrylovTest    t;
  SpikeKrylovFactors f;
  SpikeScalar        rho;       /* bcgs: rp.r; cg: z.r                                                      */
  SpikeScalar        curve;     /* cg: p.Ap                                                                 */
  PetscReal          rpinverse; /* bcgs: 1 / ||rp||                                                       */
  PetscReal          norm;      /* of the residual, as the test wants it                                    */
  PetscReal          replaced;  /* the same of the last residual that replaced one                          */
  PetscInt           it;        /* iterations that are complete                                             */
  PetscInt           since;     /* the same since the last start                                            */
  int                reason;    /* KSPConvergedReason or SPIKE_KRYLOV_RESTART; steps do nothing when it is set */
} SpikeKrylovScalars;

SPIKE_BOTH_INLINE PetscBool SpikeKrylovFinite(PetscScalar a)
{
  const PetscReal re = PetscRealPart(a), im = PetscImaginaryPart(a);

  return (re - re == (PetscReal)0.0 && im - im == (PetscReal)0.0) ? PETSC_TRUE : PETSC_FALSE;
}

SPIKE_BOTH_INLINE PetscReal SpikeKrylovAbs2(PetscScalar a)
{
  return PetscRealPart(a) * PetscRealPart(a) + PetscImaginaryPart(a) * PetscImaginaryPart(a);
}

/* The end of an iteration: counts it and tests norm as KSPConvergedDefault() does */
SPIKE_BOTH_INLINE void SpikeKrylovTestNorm(SpikeKrylovScalars *s, PetscReal norm)
{
  s->norm = norm;
  s->it++;
  s->since++;
  if (!SpikeKrylovFinite(norm)) s->reason = KSP_DIVERGED_NANORINF;
  else if (s->t.test == SPIKE_KRYLOV_TEST_DEFAULT && s->t.norm != KSP_NORM_NONE && s->it > s->t.chknorm &&
           s->it >= s->t.minit) {
    if (norm <= s->t.ttol) s->reason = norm < s->t.abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
    else if (norm >= s->t.dtol) s->reason = KSP_DIVERGED_DTOL;
  }
  if (!s->reason && norm == (PetscReal)0.0) s->reason = KSP_CONVERGED_ATOL;
}

/* a / b, or a reason when that is no number */
SPIKE_BOTH_INLINE PetscScalar SpikeKrylovDivide(SpikeKrylovScalars *s, PetscScalar a, PetscScalar b)
{
  if (!SpikeKrylovFinite(a) || !SpikeKrylovFinite(b)) s->reason = KSP_DIVERGED_NANORINF;
  else if (b == (PetscScalar)0.0) s->reason = SPIKE_KRYLOV_RESTART;
  else return a / b;
  return (PetscScalar)0.0;
}

/* omega = t.s / t.t. t = 0: where s = 0 too, x + alpha p is the solution; else the operator is singular */
SPIKE_BOTH_INLINE void SpikeKrylovOmega(SpikeKrylovScalars *s, PetscScalar ts, PetscScalar tt, PetscScalar ss)
{
  if (tt == (PetscScalar)0.0 && SpikeKrylovFinite(ss)) {
    s->f.omega = (PetscScalar)0.0;
    if (ss != (PetscScalar)0.0) s->reason = KSP_DIVERGED_BREAKDOWN;
  } else s->f.omega = SpikeKrylovDivide(s, ts, tt);
}

/* beta = (rho_new / rho) (alpha / omega); 0 where omega = 0, which SpikeKrylovEndBCGS() sees */
SPIKE_BOTH_INLINE void SpikeKrylovBeta(SpikeKrylovScalars *s, PetscScalar rho)
{
  s->f.beta = s->f.omega == (PetscScalar)0.0 || s->rho == (PetscScalar)0.0 ? (PetscScalar)0.0
                                                                           : (rho / s->rho) * (s->f.alpha / s->f.omega);
  s->rho    = rho;
}

/*
  |x.y| <= 10 eps ||x|| ||y||: the dot product carries no information. xy is x.y / ||x||: no product of four norms,
  which would underflow long before x.y does
*/
SPIKE_BOTH_INLINE PetscBool SpikeKrylovIsRounding(PetscScalar xy, PetscReal yy)
{
  return SpikeKrylovAbs2(xy) <= (10 * PETSC_MACHINE_EPSILON) * (10 * PETSC_MACHINE_EPSILON) * yy ? PETSC_TRUE
                                                                                                 : PETSC_FALSE;
}

/* A new start where omega = 0, or rho = rp.r is only rounding */
SPIKE_BOTH_INLINE void SpikeKrylovEndBCGS(SpikeKrylovScalars *s, PetscReal rr)
{
  SpikeKrylovTestNorm(s, PetscSqrtReal(rr));
  if (!s->reason && (s->f.omega == (PetscScalar)0.0 || SpikeKrylovIsRounding(s->rho * s->rpinverse, rr)))
    s->reason = SPIKE_KRYLOV_RESTART;
}

SPIKE_BOTH_INLINE PetscReal SpikeKrylovNormCG(const SpikeKrylovScalars *s, PetscScalar zr, PetscScalar zz,
                                              PetscScalar rr)
{
  if (s->t.norm == KSP_NORM_NATURAL) return PetscSqrtReal(PetscSqrtReal(SpikeKrylovAbs2(zr)));
  return PetscSqrtReal(PetscRealPart(s->t.norm == KSP_NORM_PRECONDITIONED ? zz : rr));
}

/*
  z.r and p.Ap are real where A and B are hermitian: an imaginary part is rounding. Without it alpha and beta are real,
  and a product with them has the same bits whether or not a compiler fuses its multiplications and additions
*/
SPIKE_BOTH_INLINE PetscScalar SpikeKrylovHermitian(const SpikeKrylovScalars *s, PetscScalar dot)
{
  /* infinity or NaN in either part is to be seen */
  return s->f.symmetric > (PetscReal)0.0 || !SpikeKrylovFinite(dot) ? dot : (PetscScalar)PetscRealPart(dot);
}

/*
  z.r, which is real, changes its sign only with an indefinite preconditioner. Without conjugates it has no sign in
  complex arithmetic. z.r = 0 with r != 0 leaves nothing to divide by
*/
SPIKE_BOTH_INLINE void SpikeKrylovEndCG(SpikeKrylovScalars *s, PetscScalar zr, PetscScalar zz, PetscScalar rr)
{
  const PetscScalar old   = s->rho;
  const PetscBool   signs = PetscDefined(USE_COMPLEX) && s->f.symmetric > (PetscReal)0.0 ? PETSC_FALSE : PETSC_TRUE;

  SpikeKrylovTestNorm(s, SpikeKrylovNormCG(s, zr, zz, rr));
  zr     = SpikeKrylovHermitian(s, zr);
  s->rho = zr;
  if (s->reason > 0 && old != (PetscScalar)0.0) s->f.beta = zr / old; /* where the solve goes on after all */
  if (s->reason) return;
  if (!SpikeKrylovFinite(zr)) s->reason = KSP_DIVERGED_NANORINF;
  else if (zr == (PetscScalar)0.0)
    s->reason = s->f.symmetric > (PetscReal)0.0 ? SPIKE_KRYLOV_RESTART : KSP_CONVERGED_ATOL;
  else if (signs && (PetscRealPart(zr) > (PetscReal)0.0) != (PetscRealPart(old) > (PetscReal)0.0))
    s->reason = KSP_DIVERGED_INDEFINITE_PC;
  else s->f.beta = zr / old;
}

/*
  alpha = z.r / p.Ap. p.Ap = 0, or of another sign than before: the operator is not definite. Without conjugates it has
  no sign, and 0 is a breakdown; so is z.r = 0 after a start, where r is not 0: B hides r
*/
SPIKE_BOTH_INLINE void SpikeKrylovAlphaCG(SpikeKrylovScalars *s, PetscScalar curve)
{
  curve = SpikeKrylovHermitian(s, curve);
  if (s->f.symmetric > (PetscReal)0.0) s->f.alpha = SpikeKrylovDivide(s, s->rho, curve);
  else if (!SpikeKrylovFinite(curve)) s->reason = KSP_DIVERGED_NANORINF;
  else if (s->rho == (PetscScalar)0.0) s->reason = KSP_DIVERGED_BREAKDOWN;
  else if (curve == (PetscScalar)0.0 ||
           (s->since && (PetscRealPart(curve) > (PetscReal)0.0) != (PetscRealPart(s->curve) > (PetscReal)0.0)))
    s->reason = KSP_DIVERGED_INDEFINITE_MAT;
  else s->f.alpha = s->rho / curve;
  s->curve = curve;
}

/*
  After a residual has replaced another one, and beta is known: a residual that is more than twice as large has little
  to do with the direction, and the next one is r or z alone
*/
SPIKE_BOTH_INLINE void SpikeKrylovReplaced(SpikeKrylovScalars *s, PetscReal norm)
{
  s->replaced = norm;
  if (!(norm <= 2 * s->norm)) s->f.beta = (PetscScalar)0.0;
}

/* Whether a step does nothing */
SPIKE_BOTH_INLINE PetscBool SpikeKrylovIdles(int step, const SpikeKrylovScalars *s)
{
  return (step == SPIKE_CG_SETTLE ? s->f.lag == (PetscScalar)0.0 : s->reason != 0) ? PETSC_TRUE : PETSC_FALSE;
}

/*
  The scalars after a step, from its dots d[], summed over all ranks in the order of the list above. Returns PETSC_TRUE
  when the host is to be told: at each start, at the end of each iteration, and when a reason is set. Called by the
  host, or by one thread of the device.
*/
SPIKE_BOTH_INLINE PetscBool SpikeKrylovRecur(int step, SpikeKrylovScalars *s, const PetscScalar d[])
{
  PetscBool post = PETSC_FALSE;

  switch (step) {
  case SPIKE_BCGS_START:
    s->rho       = d[0];
    s->norm      = PetscSqrtReal(PetscRealPart(d[0]));
    s->rpinverse = s->norm > (PetscReal)0.0 ? (PetscReal)1.0 / s->norm : (PetscReal)0.0;
    s->since     = 0;
    post         = PETSC_TRUE;
    break;
  case SPIKE_BCGS_ALPHA:
    s->f.alpha = SpikeKrylovDivide(s, s->rho, d[0]);
    if (!s->reason && SpikeKrylovIsRounding(d[0] * s->rpinverse, PetscRealPart(d[1]))) s->reason = SPIKE_KRYLOV_RESTART;
    break;
  case SPIKE_BCGS_OMEGA:
    SpikeKrylovOmega(s, d[0], d[1], d[2]);
    break;
  case SPIKE_BCGS_OMEGA_RHO: /* rp.r = rp.s - omega rp.t */
    SpikeKrylovOmega(s, d[0], d[1], d[2]);
    SpikeKrylovBeta(s, d[3] - s->f.omega * d[4]);
    break;
  case SPIKE_BCGS_X:
    SpikeKrylovBeta(s, d[0]);
    SpikeKrylovEndBCGS(s, PetscRealPart(d[1]));
    post = PETSC_TRUE;
    break;
  case SPIKE_BCGS_XP:
    SpikeKrylovEndBCGS(s, PetscRealPart(d[0]));
    post = PETSC_TRUE;
    break;
  case SPIKE_BCGS_RHO: /* beta has the old rho in its numerator */
    if (s->rho != (PetscScalar)0.0) s->f.beta *= d[0] / s->rho;
    s->rho = d[0];
    SpikeKrylovReplaced(s, PetscSqrtReal(PetscRealPart(d[1])));
    break;
  case SPIKE_CG_START:
    s->rho   = SpikeKrylovHermitian(s, d[0]);
    s->norm  = SpikeKrylovNormCG(s, d[0], d[1], d[2]);
    s->since = 0;
    post     = PETSC_TRUE;
    break;
  case SPIKE_CG1_START:
    s->rho   = SpikeKrylovHermitian(s, d[0]);
    s->norm  = SpikeKrylovNormCG(s, d[0], d[2], d[3]);
    s->since = 0;
    if (s->norm != (PetscReal)0.0) SpikeKrylovAlphaCG(s, d[1]);
    post = PETSC_TRUE;
    break;
  case SPIKE_CG_ALPHA:
    s->f.lag = (PetscScalar)0.0;
    SpikeKrylovAlphaCG(s, d[0]);
    break;
  case SPIKE_CG_XR:
    SpikeKrylovEndCG(s, d[0], d[0], d[0]);
    post = PETSC_TRUE;
    break;
  case SPIKE_CG_RS:
    s->f.lag = s->f.alpha;
    /* z = scale r: with scale 1 the sum is that of SPIKE_CG_XR, in bits too */
    if (s->f.scale == (PetscScalar)1.0 && !(s->f.symmetric > (PetscReal)0.0)) SpikeKrylovEndCG(s, d[2], d[2], d[2]);
    else SpikeKrylovEndCG(s, d[0], d[1], d[2]);
    post = PETSC_TRUE;
    break;
  case SPIKE_CG_RD:
  case SPIKE_CG_RBETA:
    s->f.lag = s->f.alpha;
    SpikeKrylovEndCG(s, d[0], d[1], d[2]);
    post = PETSC_TRUE;
    break;
  case SPIKE_CG_SETTLE:
    s->f.lag = (PetscScalar)0.0;
    return PETSC_FALSE;
  case SPIKE_CG_XZ:
  case SPIKE_CG_BETA:
    SpikeKrylovEndCG(s, d[0], d[1], d[2]);
    post = PETSC_TRUE;
    break;
  case SPIKE_CG_RHO:
    if (s->rho != (PetscScalar)0.0) s->f.beta *= d[0] / s->rho;
    s->rho = d[0];
    SpikeKrylovReplaced(s, SpikeKrylovNormCG(s, d[0], d[1], d[2]));
    break;
  case SPIKE_CG1_BETA: /* p.Ap = z.Az - |beta|^2 (p.Ap)_old, symmetric: beta^2 */
    SpikeKrylovEndCG(s, d[0], d[2], d[3]);
    if (!s->reason)
      SpikeKrylovAlphaCG(s, d[1] - (s->f.symmetric > (PetscReal)0.0 ? s->f.beta * s->f.beta
                                                                    : (PetscScalar)SpikeKrylovAbs2(s->f.beta)) *
                                     s->curve);
    post = PETSC_TRUE;
    break;
  default:
    break;
  }
  return s->reason ? PETSC_TRUE : post;
}
