/* The loops of matrix.c for one precision; no guard: it is read twice. */

/* A[i, j] = 0 where |A[i, j]| < tiny·rootᵢ·rootⱼ, for first <= i < last and j < i. */
EXPORT int TYPED(clear_lower)(index first, index last, REAL *restrict A, index lda, double tiny,
                              const REAL *restrict root)
{
    for (index i = first; i < last; i++) {
        REAL *restrict row = A + i * lda;
        const REAL limit = (REAL)tiny * root[i];
        SIMD for (index j = 0; j < i; j++) row[j] = ABS(row[j]) < limit * root[j] ? 0 : row[j];
    }
    return 0;
}

/* out[j, i] = T[i, j], by squares that are whole lines of the cache on both sides. */
EXPORT int TYPED(transpose)(index m, index n, const REAL *restrict T, index ldt, REAL *restrict out, index ldo)
{
    for (index j0 = 0; j0 < n; j0 += SIDE) {
        const index j1 = j0 + SIDE < n ? j0 + SIDE : n;
        for (index i0 = 0; i0 < m; i0 += SIDE) {
            if (i0 + SIDE > m || j1 < j0 + SIDE) {
                for (index i = i0; i < i0 + SIDE && i < m; i++)
                    for (index j = j0; j < j1; j++) out[j * ldo + i] = T[i * ldt + j];
                continue;
            }
            REAL square[SIDE][SIDE];
            for (index i = 0; i < SIDE; i++)
                for (index j = 0; j < SIDE; j++) square[j][i] = T[(i0 + i) * ldt + j0 + j];
            for (index j = 0; j < SIDE; j++) memcpy(out + (j0 + j) * ldo + i0, square[j], sizeof square[j]);
        }
    }
    return 0;
}

/* M[j, i] = M[i, j] for first <= i < last and j < i, by squares that stay in the first-level cache. */
EXPORT int TYPED(mirror)(index first, index last, REAL *M, index ldm)
{
    for (index i0 = first; i0 < last; i0 += 32) {
        const index i1 = i0 + 32 < last ? i0 + 32 : last;
        for (index j0 = 0; j0 < i1; j0 += 32)
            for (index i = i0; i < i1; i++) {
                const index j1 = j0 + 32 < i ? j0 + 32 : i;
                for (index j = j0; j < j1; j++) M[j * ldm + i] = M[i * ldm + j];
            }
    }
    return 0;
}
