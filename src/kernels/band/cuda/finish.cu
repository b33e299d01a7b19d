/* SPDX-License-Identifier: BSD-2-Clause */
/* finish.cu: what the setup functions report, fetched from the device together */
#include "band.cuh"
#include "fill.cuh"
#include "reduced_pivot.cuh"

size_t SpikeReportBytes_CUDA(PetscInt np, int blocks)
{
  return sizeof(SpikeReport) + 2 * ((size_t)np + 1) * blocks * sizeof(PetscReal) + 2 * (size_t)np * sizeof(int);
}

static void SpikeFinishFill_Private(const SpikeReport *r, SpikeFillStats *st)
{
  st->sum         = (PetscReal)r->fill.value[0];
  st->dropped     = (PetscReal)r->fill.value[1];
  st->maxdropped  = (PetscReal)r->fill.value[2];
  st->norm        = (PetscReal)r->fill.value[3];
  st->badrow      = (PetscInt)r->fill.badrow;
  st->overflowrow = (PetscInt)r->fill.overflowrow;
  st->zerorow     = (PetscInt)r->fill.zerorow;
}

/* A pivot's magnitude is fetched for itself: few setups have a bad one */
static PetscErrorCode SpikeFinishPivot_Private(SpikeBand *s, const SpikeStatus *status, PetscInt badrow,
                                               const double *values, SpikePivot *pivot)
{
  double value;

  PetscFunctionBegin;
  SpikePivotScale_CUDA((const SpikeCUDA *)s->data, pivot);
  pivot->nboost = (PetscInt)status->nboost;
  pivot->badrow = badrow;
  if (badrow >= 0) {
    PetscCallCUDA(cudaMemcpyAsync(&value, values, sizeof(double), cudaMemcpyDeviceToHost, (cudaStream_t)s->stream));
    PetscCallCUDA(cudaStreamSynchronize((cudaStream_t)s->stream));
    PetscCall(PetscLogGpuToCpuScalar(sizeof(double)));
    pivot->badvalue = (PetscReal)value;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeFinishTips_Private(SpikeBand *s)
{
  SpikeCUDA        *h      = (SpikeCUDA *)s->data;
  const SpikeTiles *t      = &h->t;
  const PetscInt    np     = s->np;
  const PetscReal  *rate   = (const PetscReal *)(h->hostreport + 1);
  const int        *window = (const int *)(rate + 2 * ((size_t)np + 1) * h->blocks);
  /* tile rows: longest, shortest, of the windows */
  PetscInt n = -1, J = 0, most = 0, least = PETSC_INT_MAX, top = 0, bottom = 0;

  PetscFunctionBegin;
  h->windowrows = 0.0;
  for (PetscInt p = 0; p < np; p++) {
    if (n != s->start[p + 1] - s->start[p]) { /* of few lengths: no division for each */
      n = s->start[p + 1] - s->start[p];
      J = (n + t->T - 1) / t->T;
    }
    most       = PetscMax(most, J);
    least      = PetscMin(least, J);
    top        = PetscMax(top, window[2 * p]);
    bottom     = PetscMax(bottom, window[2 * p + 1]);
    s->wtop[p] = PetscMin(n, (PetscInt)window[2 * p] * t->T);
    s->wbot[p] = n - PetscMin(n, (J - window[2 * p + 1]) * t->T);
    if (h->pivoted) { /* by rows, not by tile rows */
      s->wtop[p] = window[2 * p];
      s->wbot[p] = window[2 * p + 1];
    }
    h->windowrows += PetscMin(n, s->wtop[p] + s->wbot[p]);
  }
  /*
    SpikeGetRange(): the windows of a group are those of its members together, and with the first nonzero row; where
    they meet they are one
  */
  bottom += most - least + PetscMax(t->QU, 1) + 1;
  top = top + bottom > least ? most : PetscMax(top, bottom);
  if (!h->pivoted && (top > h->correctrows || 2 * top < h->correctrows)) {
    h->correctrows = (int)top;
    s->launches++;
  }
  for (PetscInt q = 0; q <= np; q++) {
    PetscReal left = PETSC_MIN_REAL, right = PETSC_MIN_REAL;

    for (int b = 0; b < h->blocks; b++) {
      left  = PetscMax(left, rate[q * h->blocks + b]);
      right = PetscMax(right, rate[(np + 1 + q) * h->blocks + b]);
    }
    h->falloff[q]          = left;
    h->falloff[np + 1 + q] = right;
  }
  /* as if all columns were followed to the end of the windows */
  PetscCall(PetscLogGpuFlops((4.0 * t->kl + 4.0 * t->ku) * t->kl * h->windowrows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFinish_CUDA(SpikeBand *s)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const size_t       bytes  = h->falloff && !h->tri ? h->reportsize : sizeof(SpikeReport);

  PetscFunctionBegin;
  if (h->batch && h->pivot) PetscCall((*h->batch->k->fetch)(h->batch));
  if (h->fillstats || h->pivot || h->falloff || h->reducedpivot) {
    PetscCallCUDA(cudaMemcpyAsync(h->hostreport, h->report, bytes, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCallCUDA(cudaMemsetAsync(&h->report->factor, 0, 2 * sizeof(SpikeStatus), stream));
    PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)bytes));
  }
  if (h->fillstats) SpikeFinishFill_Private(h->hostreport, h->fillstats);
  if (h->fillstats && (h->batch || s->cut)) {
    const unsigned long long joined = h->hostreport->fill.nboost;

    h->fillstats->joined = joined ? (PetscInt)~joined : -1;
  }
  if (h->fillstats && h->map.state == 2 && h->hostreport->again) { /* later ones would have to do all again too */
    PetscCall(PetscInfo(NULL, "Pivots are small or boosted: fills are no longer left to the factorization\n"));
    PetscCall(SpikeFillMapDestroy_CUDA(&h->map));
    h->map.state = 0;
    h->map.apart = true;
  }
  if (h->tri) PetscCall(SpikeTriFinishSystems_CUDA(s));
  else if (h->batch) {
    if (h->pivot) SpikePivotScale_CUDA(h, h->pivot);
    if (h->pivot) PetscCall((*h->batch->k->report)(h->batch, h->pivot));
  } else if (h->pivot) {
    const PetscInt overflow = h->hostreport->factor.overflowrow ? (PetscInt)~h->hostreport->factor.overflowrow : -1;
    PetscInt       row = h->hostreport->factor.badrow ? (PetscInt)~h->hostreport->factor.badrow : -1, p = 0;
    /* what lies after a bad pivot means nothing, what lies before it does */
    const bool overflows = overflow >= 0 && (row < 0 || overflow < row);

    if (overflows) row = -1;
    while (row >= 0 && s->start[p + 1] <= row) p++;
    PetscCall(SpikeFinishPivot_Private(s, &h->hostreport->factor, row, h->badvalue + p, h->pivot));
    if (overflows) {
      h->pivot->badrow   = overflow;
      h->pivot->badvalue = PETSC_INFINITY;
    }
  }
  if (h->falloff && !h->tri) PetscCall(SpikeFinishTips_Private(s));
  if (h->reducedpivot) {
    const PetscInt q = SpikeReducedInterface(h->hostreport->reduced.badrow);

    PetscCall(
      SpikeFinishPivot_Private(s, &h->hostreport->reduced, q, h->badvalue + s->np + PetscMax(q, 0), h->reducedpivot));
  }
  SpikeForget(h);
  PetscFunctionReturn(PETSC_SUCCESS);
}
