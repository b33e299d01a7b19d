/* SPDX-License-Identifier: BSD-2-Clause */
/*
  steps.h: the formulas of the steps in scalars.h, for one row, or for as many rows as a register holds.

  The including file defines

    STEPHEAD(name)  the head of a function of (const SpikeKrylovFactors *f, T e[], T d[]), T the type of one row, or of
    as
                many rows as a register holds
    MUL(a, b)   a b, a scalar or of type T, b of type T
    DOT(a, b)   conj(a) b
    XDOT(a, b)  conj(a) b, or a b where f->symmetric is 1

  e[] are the vectors of the step, in the order of the comment above it. All are read before any is written. The dots
  are added to d[].
*/

/* r rp p */
STEPHEAD(bcgs_start)
{
  e[1] = e[2] = e[0];
  d[0] += DOT(e[0], e[0]);
}

/* r v p */
STEPHEAD(bcgs_p)
{
  e[2] = e[0] + MUL(f->beta, e[2] - MUL(f->omega, e[1]));
}

/* rp v */
STEPHEAD(bcgs_alpha)
{
  d[0] += DOT(e[0], e[1]);
  d[1] += DOT(e[1], e[1]);
}

/* v r */
STEPHEAD(bcgs_s)
{
  e[1] -= MUL(f->alpha, e[0]);
}

/* s t */
STEPHEAD(bcgs_omega)
{
  d[0] += DOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* p t rp x r */
STEPHEAD(bcgs_x)
{
  e[3] += MUL(f->alpha, e[0]) + MUL(f->omega, e[4]);
  e[4] -= MUL(f->omega, e[1]);
  d[0] += DOT(e[2], e[4]);
  d[1] += DOT(e[4], e[4]);
}

/* s t rp */
STEPHEAD(bcgs_omega_rho)
{
  d[0] += DOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
  d[3] += DOT(e[2], e[0]);
  d[4] += DOT(e[2], e[1]);
}

/* t v p x r */
STEPHEAD(bcgs_xp)
{
  e[3] += MUL(f->alpha, e[2]) + MUL(f->omega, e[4]);
  e[4] -= MUL(f->omega, e[0]);
  e[2] = e[4] + MUL(f->beta, e[2] - MUL(f->omega, e[1]));
  d[0] += DOT(e[4], e[4]);
}

/* rp r */
STEPHEAD(bcgs_rho)
{
  d[0] += DOT(e[0], e[1]);
  d[1] += DOT(e[1], e[1]);
}

/* d x y */
STEPHEAD(diagonal)
{
  e[2] = MUL(e[0], e[1]);
}

/* r z p */
STEPHEAD(cg_start)
{
  e[2] = e[1];
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* p w */
STEPHEAD(cg_alpha)
{
  d[0] += XDOT(e[0], e[1]);
}

/* p w x r */
STEPHEAD(cg_x)
{
  e[2] += MUL(f->alpha, e[0]);
  e[3] -= MUL(f->alpha, e[1]);
}

/* p w x r */
STEPHEAD(cg_xr)
{
  e[2] += MUL(f->alpha, e[0]);
  e[3] -= MUL(f->alpha, e[1]);
  d[0] += DOT(e[3], e[3]);
}

/* p w d x r z */
STEPHEAD(cg_xz)
{
  e[3] += MUL(f->alpha, e[0]);
  e[4] -= MUL(f->alpha, e[1]);
  e[5] = MUL(e[2], e[4]);
  d[0] += XDOT(e[5], e[4]);
  d[1] += DOT(e[5], e[5]);
  d[2] += DOT(e[4], e[4]);
}

/* r z */
STEPHEAD(cg_beta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* z p */
STEPHEAD(cg_p)
{
  e[1] = e[0] + MUL(f->beta, e[1]);
}

/* w r */
STEPHEAD(cg_r)
{
  e[1] -= MUL(f->alpha, e[0]);
}

/* r z */
STEPHEAD(cg_rbeta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* w r */
STEPHEAD(cg_rs)
{
  e[1] -= MUL(f->alpha, e[0]);
  e[0] = MUL(f->scale, e[1]);
  d[0] += XDOT(e[0], e[1]);
  d[1] += DOT(e[0], e[0]);
  d[2] += DOT(e[1], e[1]);
}

/* w d r */
STEPHEAD(cg_rd)
{
  e[2] -= MUL(f->alpha, e[0]);
  e[0] = MUL(e[1], e[2]);
  d[0] += XDOT(e[0], e[2]);
  d[1] += DOT(e[0], e[0]);
  d[2] += DOT(e[2], e[2]);
}

/* z p x */
STEPHEAD(cg_xp)
{
  e[2] += MUL(f->lag, e[1]);
  e[1] = e[0] + MUL(f->beta, e[1]);
}

/* r p x */
STEPHEAD(cg_xps)
{
  e[2] += MUL(f->lag, e[1]);
  e[1] = MUL(f->scale, e[0]) + MUL(f->beta, e[1]);
}

/* r d p x */
STEPHEAD(cg_xpd)
{
  e[3] += MUL(f->lag, e[2]);
  e[2] = MUL(e[1], e[0]) + MUL(f->beta, e[2]);
}

/* p x */
STEPHEAD(cg_settle)
{
  e[1] += MUL(f->lag, e[0]);
  d[0] += e[1];
}

/* r z */
STEPHEAD(cg_rho)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}

/* r z s p w */
STEPHEAD(cg1_start)
{
  e[3] = e[1];
  e[4] = e[2];
  d[0] += XDOT(e[1], e[0]);
  d[1] += XDOT(e[1], e[2]);
  d[2] += DOT(e[1], e[1]);
  d[3] += DOT(e[0], e[0]);
}

/* z s p w x r */
STEPHEAD(cg1_x)
{
  e[2] = e[0] + MUL(f->beta, e[2]);
  e[3] = e[1] + MUL(f->beta, e[3]);
  e[4] += MUL(f->alpha, e[2]);
  e[5] -= MUL(f->alpha, e[3]);
}

/* r z s */
STEPHEAD(cg1_beta)
{
  d[0] += XDOT(e[1], e[0]);
  d[1] += XDOT(e[1], e[2]);
  d[2] += DOT(e[1], e[1]);
  d[3] += DOT(e[0], e[0]);
}

/* b x r */
STEPHEAD(residual)
{
  e[2] = e[0] - e[2];
  d[0] += DOT(e[2], e[2]);
  d[1] += DOT(e[1], e[1]);
  d[2] += DOT(e[0], e[0]);
}
