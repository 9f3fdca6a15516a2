/* The loops of pairs.c for one precision; no guard: it is read twice. Codes of φ: 0 exp(−s/2), 1 exp(−√s),
   2 Matérn 3/2, 3 Matérn 5/2, 4 the rational quadratic (1 + s/(2α))^(−α) with the shape α, −1 s itself. */

/* Replace a row of s by φ(s). */
static int TYPED(phi)(index code, REAL shape, REAL *restrict s, index n)
{
    const REAL root3 = (REAL)1.7320508075688772, root5 = (REAL)2.23606797749979, third = (REAL)(1.0 / 3.0);
    if (code == 0) {
        SIMD for (index j = 0; j < n; j++) s[j] = EXP((REAL)-0.5 * s[j]);
    } else if (code == 1) {
        SIMD for (index j = 0; j < n; j++) s[j] = EXP(-SQRT(s[j]));
    } else if (code == 2) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root3 * SQRT(s[j]);
            s[j] = (1 + r) * EXP(-r);
        }
    } else if (code == 3) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root5 * SQRT(s[j]);
            s[j] = (1 + r + third * r * r) * EXP(-r);
        }
    } else if (code == 4) {
        const REAL scale = 1 / (2 * shape);
        SIMD for (index j = 0; j < n; j++) s[j] = EXP(-shape * LOG1P(scale * s[j]));
    } else if (code != -1) {
        return UNKNOWN_CODE;
    }
    return 0;
}

/* Replace a row of s by φ(s) and fill slope with φ′(s), from one exp; φ′(0) = 0 where it is infinite. Of a φ with a
   shape, total gains Σ wⱼ ∂φ/∂α = Σ wⱼ φ (u/(1 + u) − log(1 + u)), u = s/(2α). */
static int TYPED(phi_and_slope)(index code, REAL shape, REAL *restrict s, REAL *restrict slope, index n,
                                const REAL *restrict w, double *restrict total)
{
    const REAL root3 = (REAL)1.7320508075688772, root5 = (REAL)2.23606797749979, third = (REAL)(1.0 / 3.0);
    const REAL half = (REAL)0.5, c3 = (REAL)-1.5, c5 = (REAL)(-5.0 / 6.0);
    if (code == 0) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL e = EXP(-half * s[j]);
            s[j] = e;
            slope[j] = -half * e;
        }
    } else if (code == 1) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = SQRT(s[j]), e = EXP(-r);
            s[j] = e;
            slope[j] = r > 0 ? -half * e / r : 0;
        }
    } else if (code == 2) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root3 * SQRT(s[j]), e = EXP(-r);
            s[j] = (1 + r) * e;
            slope[j] = c3 * e;
        }
    } else if (code == 3) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root5 * SQRT(s[j]), e = EXP(-r);
            s[j] = (1 + r + third * r * r) * e;
            slope[j] = c5 * (1 + r) * e;
        }
    } else if (code == 4) {
        const REAL scale = 1 / (2 * shape);
        REAL sum = 0;
        _Pragma("omp simd reduction(+:sum)") for (index j = 0; j < n; j++) {
            const REAL u = scale * s[j], logarithm = LOG1P(u), e = EXP(-shape * logarithm), inverse = 1 / (1 + u);
            s[j] = e;
            slope[j] = -half * e * inverse;
            sum += w[j] * e * (u * inverse - logarithm);
        }
        *total += sum;
    } else {
        return UNKNOWN_CODE;
    }
    return 0;
}

/* Columns of B that stay in the first-level cache while all rows of A pass. */
static index TYPED(strip)(index d)
{
    const index room = 32768 / ((d > 1 ? d : 1) * (index)sizeof(REAL)) / 64 * 64;
    return room > 64 ? room : 64;
}

/* out[i, j] = φ(min(‖aᵢ − bⱼ‖², largest)); Bt is Bᵀ. */
EXPORT int TYPED(radial)(index code, double shape, index m, index d, index n, const REAL *restrict A, index lda,
                         const REAL *restrict Bt, index ldb, double largest, REAL *restrict out, index ldo)
{
    const index strip = TYPED(strip)(d);
    for (index j = 0; j < n; j += strip) {
        const index width = n - j < strip ? n - j : strip;
        for (index i = 0; i < m; i++) {
            REAL *row = out + i * ldo + j;
            TYPED(distances)(d, width, A + i * lda, Bt + j, ldb, (REAL)largest, row);
            if (TYPED(phi)(code, (REAL)shape, row, width)) return UNKNOWN_CODE;
        }
    }
    return 0;
}

/* ‖a − b‖² by differences. */
static REAL TYPED(difference)(index d, const REAL *restrict a, const REAL *restrict b)
{
    REAL s = 0;
    for (index k = 0; k < d; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return s;
}

/* s from a row g of A Bᵀ, sⱼ = aa + bbⱼ − 2gⱼ; pairs nearer than near·(aa + bb), in which all digits cancel, are done
   again by differences: equal rows give exactly 0. */
static void TYPED(from_product)(index d, index n, REAL *restrict g, REAL aa, const REAL *restrict bb,
                                const REAL *restrict a, const REAL *restrict B, index ldb, REAL near, REAL largest)
{
    int close = 0;
    SIMD for (index j = 0; j < n; j++) {
        const REAL scale = aa + bb[j], s = scale - 2 * g[j], positive = s < 0 ? 0 : s;
        g[j] = positive > largest ? largest : positive;
    }
    _Pragma("omp simd reduction(|:close)") for (index j = 0; j < n; j++) close |= g[j] < near * (aa + bb[j]);
    if (!close) return;
    for (index j = 0; j < n; j++)
        if (g[j] < near * (aa + bb[j])) g[j] = TYPED(difference)(d, a, B + j * ldb);
}

/* G[i, j] = φ(s) with s from G = A Bᵀ, aa = ‖aᵢ‖² and bb = ‖bⱼ‖². */
EXPORT int TYPED(radial_from_product)(index code, double shape, index m, index d, index n, REAL *restrict G, index ldg,
                                      const REAL *restrict aa, const REAL *restrict bb, const REAL *restrict A,
                                      index lda, const REAL *restrict B, index ldb, double near, double largest)
{
    for (index i = 0; i < m; i++) {
        REAL *row = G + i * ldg;
        TYPED(from_product)(d, n, row, aa[i], bb, A + i * lda, B, ldb, (REAL)near, (REAL)largest);
        if (TYPED(phi)(code, (REAL)shape, row, n)) return UNKNOWN_CODE;
    }
    return 0;
}

/* slope ← w ∘ slope; total = Σ w ∘ s, returns Σ slope. */
static REAL TYPED(weigh)(index n, const REAL *restrict w, const REAL *restrict s, REAL *restrict slope, double *total)
{
    REAL sum = 0, whole = 0;
    _Pragma("omp simd reduction(+:sum, whole)") for (index j = 0; j < n; j++) {
        const REAL v = w[j] * slope[j];
        sum += w[j] * s[j];
        whole += v;
        slope[j] = v;
    }
    *total += sum;
    return whole;
}

/* sums[k] += Σᵢⱼ Wᵢⱼ φ′(s)(aᵢₖ − bⱼₖ)² and totals = (Σᵢⱼ Wᵢⱼ φ(s), Σᵢⱼ Wᵢⱼ ∂φ/∂α), by differences; work holds 2n
   entries. */
EXPORT int TYPED(radial_contract)(index code, double shape, index m, index d, index n, const REAL *restrict A, index lda,
                                  const REAL *restrict Bt, index ldb, const REAL *restrict W, index ldw,
                                  double largest, REAL *restrict work, double *restrict sums, double *restrict totals)
{
    REAL *restrict s = work, *restrict slope = work + n;
    for (index i = 0; i < m; i++) {
        TYPED(distances)(d, n, A + i * lda, Bt, ldb, (REAL)largest, s);
        if (TYPED(phi_and_slope)(code, (REAL)shape, s, slope, n, W + i * ldw, totals + 1)) return UNKNOWN_CODE;
        TYPED(weigh)(n, W + i * ldw, s, slope, totals);
        for (index k = 0; k < d; k++) {
            const REAL a = A[i * lda + k], *restrict b = Bt + k * ldb;
            REAL sum = 0;
            _Pragma("omp simd reduction(+:sum)") for (index j = 0; j < n; j++) {
                const REAL t = a - b[j];
                sum += slope[j] * (t * t);
            }
            sums[k] += sum;
        }
    }
    return 0;
}

/* G ← W ∘ φ′(s), s from the product as in radial_from_product; totals as in radial_contract. rows and columns get the sums of
   the new G over each row and (added) each column. Near pairs, whose (a − b)² must not be multiplied out, are 0 in G:
   their Wᵢⱼ φ′(s)(aᵢₖ − bⱼₖ)² are added to sums[k]. work holds 2n entries. */
EXPORT int TYPED(radial_contract_product)(index code, double shape, index m, index d, index n, REAL *restrict G, index ldg,
                                          const REAL *restrict aa, const REAL *restrict bb, const REAL *restrict A,
                                          index lda, const REAL *restrict B, index ldb, double near, double largest,
                                          const REAL *restrict W, index ldw, REAL *restrict work,
                                          double *restrict rows, double *restrict columns, double *restrict sums,
                                          double *restrict totals)
{
    REAL *restrict slope = work, *restrict before = work + n;
    for (index i = 0; i < m; i++) {
        const REAL *restrict a = A + i * lda, *restrict w = W + i * ldw;
        REAL *restrict s = G + i * ldg;
        TYPED(from_product)(d, n, s, aa[i], bb, a, B, ldb, (REAL)near, (REAL)largest);
        memcpy(before, s, (size_t)n * sizeof(REAL));
        if (TYPED(phi_and_slope)(code, (REAL)shape, s, slope, n, w, totals + 1)) return UNKNOWN_CODE;
        for (index j = 0; j < n; j++)
            if (before[j] < (REAL)near * (aa[i] + bb[j])) {
                const REAL v = w[j] * slope[j];
                for (index k = 0; k < d; k++) {
                    const REAL t = a[k] - B[j * ldb + k];
                    sums[k] += v * (t * t);
                }
                slope[j] = 0;
            }
        rows[i] = TYPED(weigh)(n, w, s, slope, totals);
        SIMD for (index j = 0; j < n; j++) {
            s[j] = slope[j];
            columns[j] += slope[j];
        }
    }
    return 0;
}

/* out[i, j] = exp(−‖aᵢ − bⱼ‖₁); Bt is Bᵀ. */
EXPORT int TYPED(laplacian)(index m, index d, index n, const REAL *restrict A, index lda, const REAL *restrict Bt,
                            index ldb, REAL *restrict out, index ldo)
{
    for (index i = 0; i < m; i++) {
        REAL *restrict row = out + i * ldo;
        SIMD for (index j = 0; j < n; j++) row[j] = 0;
        for (index k = 0; k < d; k++) {
            const REAL a = A[i * lda + k], *restrict b = Bt + k * ldb;
            SIMD for (index j = 0; j < n; j++) row[j] -= ABS(a - b[j]);
        }
        SIMD for (index j = 0; j < n; j++) row[j] = EXP(row[j]);
    }
    return 0;
}

/* sums[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ|; Bt is Bᵀ. */
EXPORT int TYPED(weighted_abs)(index m, index d, index n, const REAL *restrict V, index ldv, const REAL *restrict A,
                               index lda, const REAL *restrict Bt, index ldb, double *restrict sums)
{
    for (index i = 0; i < m; i++)
        for (index k = 0; k < d; k++) {
            const REAL a = A[i * lda + k], *restrict b = Bt + k * ldb, *restrict v = V + i * ldv;
            REAL sum = 0;
            _Pragma("omp simd reduction(+:sum)") for (index j = 0; j < n; j++) sum += v[j] * ABS(a - b[j]);
            sums[k] += sum;
        }
    return 0;
}

/* f = 1 + aφ(u) of one column, u = |aₖ − bₖⱼ|; with slope also aφ/f and −a u φ′(u)/f, which the derivatives are made of.
   Codes as in phi. */
static inline int TYPED(factors)(index code, index n, REAL x, const REAL *restrict b, REAL strength, REAL *restrict f,
                                 REAL *restrict value, REAL *restrict slope)
{
    const REAL root3 = (REAL)1.7320508075688772;
    if (code == 0) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL t = x - b[j], s = t * t, e = strength * EXP((REAL)-0.5 * s);
            f[j] = 1 + e;
            if (slope) {
                const REAL inverse = 1 / (1 + e);
                value[j] = e * inverse;
                slope[j] = s * e * inverse;
            }
        }
    } else if (code == 1) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL u = ABS(x - b[j]), e = strength * EXP(-u);
            f[j] = 1 + e;
            if (slope) {
                const REAL inverse = 1 / (1 + e);
                value[j] = e * inverse;
                slope[j] = u * e * inverse;
            }
        }
    } else if (code == 2) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL u = root3 * ABS(x - b[j]), e = strength * EXP(-u), v = (1 + u) * e;
            f[j] = 1 + v;
            if (slope) {
                const REAL inverse = 1 / (1 + v);
                value[j] = v * inverse;
                slope[j] = u * u * e * inverse;
            }
        }
    } else {
        return UNKNOWN_CODE;
    }
    return 0;
}

#define ANOVA_STRIP 128 /* columns whose factors stay in the first-level cache */

/* out[i, j] = whole·∏ₖ (1 + aφ(|aᵢₖ − bⱼₖ|)); Bt is Bᵀ. */
EXPORT int TYPED(anova)(index code, index m, index d, index n, const REAL *restrict A, index lda,
                        const REAL *restrict Bt, index ldb, double strength, double whole, REAL *restrict out,
                        index ldo)
{
    REAL f[ANOVA_STRIP];
    for (index j0 = 0; j0 < n; j0 += ANOVA_STRIP) {
        const index width = n - j0 < ANOVA_STRIP ? n - j0 : ANOVA_STRIP;
        for (index i = 0; i < m; i++) {
            REAL *restrict row = out + i * ldo + j0;
            SIMD for (index j = 0; j < width; j++) row[j] = (REAL)whole;
            for (index k = 0; k < d; k++) {
                if (TYPED(factors)(code, width, A[i * lda + k], Bt + k * ldb + j0, (REAL)strength, f, 0, 0))
                    return UNKNOWN_CODE;
                SIMD for (index j = 0; j < width; j++) row[j] *= f[j];
            }
        }
    }
    return 0;
}

/* With V = W ∘ ∏ₖ fₖ: totals = (Σ V, Σ V Σₖ aφₖ/fₖ) and sums[k] += Σ V (−a u φ′)/fₖ; work holds 128 (d + 1) entries. */
EXPORT int TYPED(anova_contract)(index code, index m, index d, index n, const REAL *restrict A, index lda,
                                 const REAL *restrict Bt, index ldb, const REAL *restrict W, index ldw,
                                 double strength, REAL *restrict work, double *restrict sums, double *restrict totals)
{
    REAL f[ANOVA_STRIP], value[ANOVA_STRIP], V[ANOVA_STRIP];
    REAL *restrict values = work, *restrict slopes = work + ANOVA_STRIP;
    for (index j0 = 0; j0 < n; j0 += ANOVA_STRIP) {
        const index width = n - j0 < ANOVA_STRIP ? n - j0 : ANOVA_STRIP;
        for (index i = 0; i < m; i++) {
            const REAL *restrict w = W + i * ldw + j0;
            SIMD for (index j = 0; j < width; j++) {
                V[j] = w[j];
                values[j] = 0;
            }
            for (index k = 0; k < d; k++) {
                if (TYPED(factors)(code, width, A[i * lda + k], Bt + k * ldb + j0, (REAL)strength, f, value,
                                   slopes + k * ANOVA_STRIP))
                    return UNKNOWN_CODE;
                SIMD for (index j = 0; j < width; j++) {
                    V[j] *= f[j];
                    values[j] += value[j];
                }
            }
            REAL total = 0, by_strength = 0;
            _Pragma("omp simd reduction(+:total, by_strength)") for (index j = 0; j < width; j++) {
                total += V[j];
                by_strength += V[j] * values[j];
            }
            totals[0] += total;
            totals[1] += by_strength;
            for (index k = 0; k < d; k++) {
                const REAL *restrict slope = slopes + k * ANOVA_STRIP;
                REAL sum = 0;
                _Pragma("omp simd reduction(+:sum)") for (index j = 0; j < width; j++) sum += V[j] * slope[j];
                sums[k] += sum;
            }
        }
    }
    return 0;
}
