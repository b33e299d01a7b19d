/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.c: where points around a box lie, for all backends */
#include "stencil.h"

void SpikeStencilSetShell(SpikeStencil *S)
{
  SpikeStencilShell *h = &S->shell;

  h->n = 0;
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    for (int d = 0; d < 3; d++) {
      begin[d] = d < 2 - b / 2 ? h->lo[d] : 0;
      end[d]   = d < 2 - b / 2 ? h->hi[d] : S->size[d];
      if (d == 2 - b / 2) {
        begin[d] = b % 2 ? S->size[d] : h->lo[d];
        end[d]   = b % 2 ? h->hi[d] : 0;
      }
    }
    h->sj[b]    = end[0] - begin[0];
    h->sk[b]    = h->sj[b] * (end[1] - begin[1]);
    h->first[b] = h->n - begin[0] - begin[1] * h->sj[b] - begin[2] * h->sk[b];
    h->n += h->sk[b] * (end[2] - begin[2]);
  }
}
