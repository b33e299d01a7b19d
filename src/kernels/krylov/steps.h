/* SPDX-License-Identifier: BSD-2-Clause */
/*
  steps.h: the formulas of the steps in scalars.h, for one row, or for as many rows as a register holds.

  The including file defines

    STEP(name)  the head of a function of (const SpikeKrylovFactors *f, T e[], T d[]), T the type of one row, or of as
                many rows as a register holds
    MUL(a, b)   a b, a scalar or of type T, b of type T
    DOT(a, b)   conj(a) b
    XDOT(a, b)  conj(a) b, or a b where f->symmetric is 1

  e[] are the vectors of the step, in the order of the comment above it. All are read before any is written. The dots
  are added to d[].
*/

/* r rp p */
STEP(bcgs_start)
{
  e[1] = e[2] = e[0];
  d[0] += DOT(e[0], e[0]);
}

/* r v p */
STEP(bcgs_p)
{
  e[2] = e[0] + MUL(f->beta, e[2] - MUL(f->omega, e[1]));
}

/* rp v */
STEP(bcgs_alpha)
{
  d[0] += DOT(e[0], e[1]);
  d[1] += DOT(e[1], e[1]);
}

/* v r */
STEP(bcgs_s)
{
  e[1] -= MUL(f->alpha, e[0]);
}

/* s t */
STEP(bcgs_omega)
{
  d[0] += DOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* p t rp x r */
STEP(bcgs_x)
{
  e[3] += MUL(f->alpha, e[0]) + MUL(f->omega, e[4]);
  e[4] -= MUL(f->omega, e[1]);
  d[0] += DOT(e[2], e[4]);
  d[1] += DOT(e[4], e[4]);
}

/* s t rp */
STEP(bcgs_omega_rho)
{
  d[0] += DOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
  d[3] += DOT(e[2], e[0]);
  d[4] += DOT(e[2], e[1]);
}

/* t v p x r */
STEP(bcgs_xp)
{
  e[3] += MUL(f->alpha, e[2]) + MUL(f->omega, e[4]);
  e[4] -= MUL(f->omega, e[0]);
  e[2] = e[4] + MUL(f->beta, e[2] - MUL(f->omega, e[1]));
  d[0] += DOT(e[4], e[4]);
}

/* rp r */
STEP(bcgs_rho)
{
  d[0] += DOT(e[0], e[1]);
  d[1] += DOT(e[1], e[1]);
}

/* d x y */
STEP(diagonal)
{
  e[2] = MUL(e[0], e[1]);
}

/* r z p */
STEP(cg_start)
{
  e[2] = e[1];
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* p w */
STEP(cg_alpha)
{
  d[0] += XDOT(e[0], e[1]);
}

/* p w x r */
STEP(cg_x)
{
  e[2] += MUL(f->alpha, e[0]);
  e[3] -= MUL(f->alpha, e[1]);
}

/* p w x r */
STEP(cg_xr)
{
  e[2] += MUL(f->alpha, e[0]);
  e[3] -= MUL(f->alpha, e[1]);
  d[0] += DOT(e[3], e[3]);
}

/* p w d x r z */
STEP(cg_xz)
{
  e[3] += MUL(f->alpha, e[0]);
  e[4] -= MUL(f->alpha, e[1]);
  e[5] = MUL(e[2], e[4]);
  d[0] += XDOT(e[5], e[4]);
  d[1] += DOT(e[5], e[5]);
  d[2] += DOT(e[4], e[4]);
}

/* r z */
STEP(cg_beta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* z p */
STEP(cg_p)
{
  e[1] = e[0] + MUL(f->beta, e[1]);
}

/* w r */
STEP(cg_r)
{
  e[1] -= MUL(f->alpha, e[0]);
}

/* r z */
STEP(cg_rbeta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* w r */
STEP(cg_rs)
{
  e[1] -= MUL(f->alpha, e[0]);
  e[0] = MUL(f->scale, e[1]);
  d[0] += XDOT(e[0], e[1]);
  d[1] += DOT(e[0], e[0]);
  d[2] += DOT(e[1], e[1]);
}

/* w d r */
STEP(cg_rd)
{
  e[2] -= MUL(f->alpha, e[0]);
  e[0] = MUL(e[1], e[2]);
  d[0] += XDOT(e[0], e[2]);
  d[1] += DOT(e[0], e[0]);
  d[2] += DOT(e[2], e[2]);
}

/* z p x */
STEP(cg_xp)
{
  e[2] += MUL(f->lag, e[1]);
  e[1] = e[0] + MUL(f->beta, e[1]);
}

/* r p x */
STEP(cg_xps)
{
  e[2] += MUL(f->lag, e[1]);
  e[1] = MUL(f->scale, e[0]) + MUL(f->beta, e[1]);
}

/* r d p x */
STEP(cg_xpd)
{
  e[3] += MUL(f->lag, e[2]);
  e[2] = MUL(e[1], e[0]) + MUL(f->beta, e[2]);
}

/* p x */
STEP(cg_settle)
{
  e[1] += MUL(f->lag, e[0]);
  d[0] += e[1];
}

/* r z */
STEP(cg_rho)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* r z s p w */
STEP(cg1_start)
{
  e[3] = e[1];
  e[4] = e[2];
  d[0] += XDOT(e[1], e[0]);
  d[1] += XDOT(e[1], e[2]);
  d[2] += DOT(e[1], e[1]);
  d[3] += DOT(e[0], e[0]);
}

/* z s p w x r */
STEP(cg1_x)
{
  e[2] = e[0] + MUL(f->beta, e[2]);
  e[3] = e[1] + MUL(f->beta, e[3]);
  e[4] += MUL(f->alpha, e[2]);
  e[5] -= MUL(f->alpha, e[3]);
}

/* r z s */
STEP(cg1_beta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += XDOT(e[1], e[2]);
  d[2] += DOT(e[1], e[1]);
  d[3] += DOT(e[0], e[0]);
}
