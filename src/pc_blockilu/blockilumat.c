/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilumat.c: PCBLOCKILU's view of the matrix: the diagonal part on this rank, as blocks or as scalars */
#include "blockiluimpl.h"

/* The matrix as BAIJ or AIJ: itself, or a copy. *same: with reuse, whether its pattern is that of the copy before */
PetscErrorCode PCBlockILUGetMat_Private(PC pc, PetscBool reuse, Mat *A, PetscBool *same)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;
  PetscBool    itself, sbaij, aij;
  PetscInt     bs;

  PetscFunctionBegin;
  PetscCall(
    PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &itself, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatGetBlockSize(pc->pmat, &bs));
  if (!aij && bs > SPIKE_BLOCK_MAXBS) itself = PETSC_FALSE; /* its blocks fall into smaller ones */
  *A    = pc->pmat;
  *same = reuse;
  if (itself) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &sbaij, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCall(
    PCFactoredConvert_Private(pc, sbaij && bs <= SPIKE_BLOCK_MAXBS ? MATBAIJ : MATAIJ, reuse, &s->converted, same));
  *A = s->converted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Size of the blocks, the same on all ranks, with the errors about it */
PetscErrorCode PCBlockILUGetBlockSize_Private(PC pc, Mat A, PetscInt *bs)
{
  PC_BlockILU *s    = (PC_BlockILU *)pc->data;
  MPI_Comm     comm = PetscObjectComm((PetscObject)pc);
  const char  *pre  = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool    baij;
  PetscInt     matbs, rest[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  PetscCall(MatGetBlockSize(A, &matbs));
  if (s->converted == A && !baij) PetscCall(MatGetBlockSize(pc->pmat, &matbs));
  *bs = s->bs == PETSC_DECIDE ? matbs : s->bs;
  if (s->bs == PETSC_DECIDE && matbs > SPIKE_BLOCK_MAXBS) {
    for (*bs = SPIKE_BLOCK_MAXBS; matbs % *bs;) (*bs)--;
    PetscCall(PetscInfo(pc,
                        "Blocks of %" PetscInt_FMT " rows are larger than the kernels have them: factored as blocks of "
                        "%" PetscInt_FMT "\n",
                        matbs, *bs));
  }
  PetscCheck(!baij || *bs == matbs, comm, PETSC_ERR_ARG_INCOMP,
             "-%spc_blockilu_bs %" PetscInt_FMT ": the matrix is of type %s with blocks of %" PetscInt_FMT
             " rows, which are factored as they are; leave the option out, or MatConvert() the matrix to MATAIJ",
             pre, *bs, ((PetscObject)pc->pmat)->type_name, matbs);
  PetscCheck(*bs <= SPIKE_BLOCK_MAXBS, comm, PETSC_ERR_SUP,
             "PCBLOCKILU has kernels for blocks of up to %d rows, not %" PetscInt_FMT
             ": use -%spc_blockilu_bs with a divisor of it, or leave it out",
             SPIKE_BLOCK_MAXBS, *bs, pre);
  rest[0] = A->rmap->n % *bs;
  PetscCallMPI(MPIU_Allreduce(&rest[0], &rest[1], 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!rest[1], comm, PETSC_ERR_ARG_SIZ,
             "Local sizes are not multiples of the block size %" PetscInt_FMT " (%" PetscInt_FMT
             " rows in all): use another -%spc_blockilu_bs, or call MatSetBlockSize() before MatSetUp(), so that ranks "
             "own whole blocks",
             *bs, A->rmap->N, pre);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Pointers to memory of the given type; they hold until PCBlockILURestoreCSR_Private(). No entry is copied unless it is
  out of date where it is asked for
*/
PetscErrorCode PCBlockILUGetCSR_Private(Mat A, PetscMemType memtype, BlockILUMat *m)
{
  PetscBool mpi;

  PetscFunctionBegin;
  m->A       = A;
  m->memtype = memtype;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &m->baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &mpi, MATMPIAIJ, MATMPIBAIJ, ""));
  if (m->baij) {
    if (mpi) PetscCall(MatGetDiagonalBlock(A, &m->A)); /* MATMPIBAIJCUDA says then what has changed */
    PetscCall(SpikeMatSeqBAIJGetCSR(m->A, memtype, &m->csr));
  } else {
    if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &m->A, NULL, NULL));
    PetscCall(SpikeMatSeqAIJGetCSR(m->A, memtype, &m->piece));
    m->csr.bs = 1;
    m->csr.ai = m->piece.ai;
    m->csr.aj = m->piece.aj;
    m->csr.aa = m->piece.aa;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBlockILURestoreCSR_Private(BlockILUMat *m)
{
  PetscFunctionBegin;
  if (m->baij) PetscCall(SpikeMatSeqBAIJRestoreCSR(m->A, m->memtype, &m->csr));
  else PetscCall(SpikeMatSeqAIJRestoreCSR(m->A, m->memtype, &m->piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}
