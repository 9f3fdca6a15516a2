/* Squared distances for one precision; no guard: it is read once for each. */

/* sⱼ = min(Σₖ (aₖ − bₖⱼ)², largest), by differences: exactly 0 for equal rows. Four columns of B at a time, so that s
   is read and written a quarter as often. */
static void TYPED(distances)(index d, index n, const REAL *restrict a, const REAL *restrict Bt, index ldb,
                             REAL largest, REAL *restrict s)
{
    index k = d % 4;
    SIMD for (index j = 0; j < n; j++) s[j] = 0;
    for (index q = 0; q < k; q++) {
        const REAL a0 = a[q], *restrict b0 = Bt + q * ldb;
        SIMD for (index j = 0; j < n; j++) {
            const REAL t = a0 - b0[j];
            s[j] += t * t;
        }
    }
    for (; k < d; k += 4) {
        const REAL a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        const REAL *restrict b0 = Bt + k * ldb, *restrict b1 = b0 + ldb, *restrict b2 = b1 + ldb;
        const REAL *restrict b3 = b2 + ldb;
        SIMD for (index j = 0; j < n; j++) {
            const REAL t0 = a0 - b0[j], t1 = a1 - b1[j], t2 = a2 - b2[j], t3 = a3 - b3[j];
            s[j] += t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3;
        }
    }
    SIMD for (index j = 0; j < n; j++) s[j] = s[j] > largest ? largest : s[j]; /* NaN stays */
}
