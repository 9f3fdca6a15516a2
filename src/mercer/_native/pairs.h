/* The loops of pairs.c for one precision; no guard: it is read twice. Codes of φ: 0 exp(−s/2), 1 exp(−√s),
   2 Matérn 3/2, 3 Matérn 5/2, 4 the rational quadratic (1 + s/(2α))^(−α) with the shape α, −1 s itself.

   A Matérn function is φ = (1 + r(p₁ + p₂r)) e^(−r) of r = ρ√s, and φ′(s) = (h₀ + h₁r) e^(−r), or −e^(−r)/(2r) for exp(−√s). */
static const REAL TYPED(matern)[4][5] = {/* ρ, p₁, p₂, h₀, h₁ */
    {0, 0, 0, 0, 0},
    {1, 0, 0, 0, 0},
    {(REAL)1.7320508075688772, 1, 0, (REAL)-1.5, 0},
    {(REAL)2.23606797749979, 1, (REAL)(1.0 / 3.0), (REAL)(-5.0 / 6.0), (REAL)(-5.0 / 6.0)}};

/* v = cφ(s); with slope also cφ′(s), 0 where it is infinite, and c ∂φ/∂α = cφ (u/(1 + u) − log(1 + u)), u = s/(2α), of a φ
   with a shape. v may be s where there is no slope. */
static inline int TYPED(phi)(index code, REAL shape, REAL c, index n, const REAL *s, REAL *v, REAL *restrict slope,
                             REAL *restrict by_shape)
{
    const REAL half = (REAL)0.5;
    if (code == 0) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL e = c * EXP(-half * s[j]);
            v[j] = e;
            if (slope) slope[j] = -half * e;
        }
    } else if (code == 1 && slope) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = SQRT(s[j]), e = c * EXP(-r);
            v[j] = e;
            slope[j] = r > 0 ? -half * e / r : 0;
        }
    } else if (code > 0 && code < 4) {
        const REAL *m = TYPED(matern)[code], root = m[0], p1 = m[1], p2 = m[2], h0 = m[3], h1 = m[4];
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root * SQRT(s[j]), e = c * EXP(-r);
            v[j] = (1 + r * (p1 + r * p2)) * e;
            if (slope) slope[j] = (h0 + h1 * r) * e;
        }
    } else if (code == 4) {
        const REAL scale = 1 / (2 * shape);
        SIMD for (index j = 0; j < n; j++) {
            const REAL u = scale * s[j], logarithm = LOG1P(u), e = c * EXP(-shape * logarithm);
            v[j] = e;
            if (slope) {
                const REAL inverse = 1 / (1 + u);
                slope[j] = -half * e * inverse;
                by_shape[j] = e * (u * inverse - logarithm);
            }
        }
    } else if (code != -1) {
        return UNKNOWN_CODE;
    }
    return 0;
}

/* v = φ(t²) of one column, t = x − bⱼ; with slope also −2t²φ′(t²). Of a Matérn function e^(−ρ|t|) is the smaller of
   e^(ρx) e^(−ρb) and e^(−ρx) e^(ρb), where these are known: a has e^(ρx) and e^(−ρx), two rows at B those of b. */
static inline int TYPED(column)(index code, index n, REAL x, const REAL *restrict b, const REAL *restrict a,
                                const REAL *restrict B, index ldb, REAL *restrict v, REAL *restrict slope)
{
    if (code == 0) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL t = x - b[j], s = t * t, e = EXP((REAL)-0.5 * s);
            v[j] = e;
            if (slope) slope[j] = s * e;
        }
        return 0;
    }
    if (code < 1 || code > 3) return UNKNOWN_CODE;
    const REAL *m = TYPED(matern)[code], root = m[0], p1 = m[1], p2 = m[2];
    const REAL q1 = 1 - p1, q2 = p1 - 2 * p2, q3 = p2; /* −r dφ/dr = (q₁r + q₂r² + q₃r³) e^(−r) */
    if (a) {
        const REAL rise = a[0], fall = a[1], *restrict falls = B + ldb;
        SIMD for (index j = 0; j < n; j++) {
            const REAL one = rise * falls[j], other = fall * B[j], e = one < other ? one : other;
            v[j] = x == b[j] || e > 1 ? 1 : e;
        }
    } else {
        SIMD for (index j = 0; j < n; j++) v[j] = EXP(-root * ABS(x - b[j]));
    }
    if (slope) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root * ABS(x - b[j]), e = v[j];
            v[j] = (1 + r * (p1 + r * p2)) * e;
            slope[j] = r * (q1 + r * (q2 + r * q3)) * e;
        }
    } else if (code > 1) {
        SIMD for (index j = 0; j < n; j++) {
            const REAL r = root * ABS(x - b[j]);
            v[j] *= 1 + r * (p1 + r * p2);
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
        if (TYPED(phi)(code, (REAL)shape, 1, n, row, row, 0, 0)) return UNKNOWN_CODE;
    }
    return 0;
}

/* Σ xⱼ yⱼ: four sums are under way at once. */
static REAL TYPED(dot)(index n, const REAL *restrict x, const REAL *restrict y)
{
    const index q = n / 4;
    REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    _Pragma("omp simd reduction(+:s0, s1, s2, s3)") for (index j = 0; j < q; j++) {
        s0 += x[j] * y[j];
        s1 += x[j + q] * y[j + q];
        s2 += x[j + 2 * q] * y[j + 2 * q];
        s3 += x[j + 3 * q] * y[j + 3 * q];
    }
    for (index j = 4 * q; j < n; j++) s0 += x[j] * y[j];
    return (s0 + s1) + (s2 + s3);
}

/* G ← W ∘ φ′(s), s from the product as in radial_from_product; totals += (Σ W φ, Σ W ∂φ/∂α). rows and columns get the
   sums of the new G over each row and (added) each column. Near pairs, whose (a − b)² must not be multiplied out, are 0
   in G: their Wᵢⱼ φ′(s)(aᵢₖ − bⱼₖ)² are added to sums[k]. work holds 3n entries. */
EXPORT int TYPED(radial_contract_product)(index code, double shape, index m, index d, index n, REAL *restrict G, index ldg,
                                          const REAL *restrict aa, const REAL *restrict bb, const REAL *restrict A,
                                          index lda, const REAL *restrict B, index ldb, double near, double largest,
                                          const REAL *restrict W, index ldw, REAL *restrict work,
                                          double *restrict rows, double *restrict columns, double *restrict sums,
                                          double *restrict totals)
{
    REAL *restrict v = work, *restrict slope = work + n, *restrict by_shape = work + 2 * n;
    for (index i = 0; i < m; i++) {
        const REAL *restrict a = A + i * lda, *restrict w = W + i * ldw;
        REAL *restrict s = G + i * ldg, whole = 0;
        TYPED(from_product)(d, n, s, aa[i], bb, a, B, ldb, (REAL)near, (REAL)largest);
        if (TYPED(phi)(code, (REAL)shape, 1, n, s, v, slope, by_shape)) return UNKNOWN_CODE;
        totals[0] += TYPED(dot)(n, w, v);
        if (code == 4) totals[1] += TYPED(dot)(n, w, by_shape);
        for (index j = 0; j < n; j++)
            if (s[j] < (REAL)near * (aa[i] + bb[j])) {
                const REAL t = w[j] * slope[j];
                for (index k = 0; k < d; k++) sums[k] += t * (a[k] - B[j * ldb + k]) * (a[k] - B[j * ldb + k]);
                slope[j] = 0;
            }
        _Pragma("omp simd reduction(+:whole)") for (index j = 0; j < n; j++) {
            s[j] = w[j] * slope[j];
            whole += s[j];
            columns[j] += s[j];
        }
        rows[i] = whole;
    }
    return 0;
}

/* ---- a tree of kernels: operations in the order of evaluation, on strips of a row that stay in the first-level cache */

/* The values of one operation for the point a and a strip of points, from those of the operations before it; with
   ``work`` for slopes also what ``pull`` needs. */
static int TYPED(step)(const operation *o, index n, index width, const REAL *restrict a, const REAL *restrict Bt, index ldb,
                       REAL largest, REAL *v, const REAL *left, const REAL *right, REAL *slopes, REAL *scratch)
{
    const REAL *restrict x = a + o->first, *restrict b = Bt + o->first * ldb, c = (REAL)o->scale, shape = (REAL)o->shape;
    const index d = o->columns, powers = o->powers;
    switch (o->what) {
    case SUM:
        SIMD for (index j = 0; j < n; j++) v[j] = left[j] + right[j];
        return 0;
    case PRODUCT:
        SIMD for (index j = 0; j < n; j++) v[j] = left[j] * right[j];
        return 0;
    case CONSTANT:
        SIMD for (index j = 0; j < n; j++) v[j] = c;
        return 0;
    case LINEAR:
        SIMD for (index j = 0; j < n; j++) v[j] = 0;
        for (index k = 0; k < d; k++) {
            const REAL t = c * x[k], *restrict bk = b + k * ldb;
            SIMD for (index j = 0; j < n; j++) v[j] += t * bk[j];
        }
        return 0;
    case RADIAL: {
        REAL *s = slopes ? slopes + width : v;
        TYPED(distances)(d, n, x, b, ldb, largest, s);
        return TYPED(phi)(o->code, shape, c, n, s, v, slopes, slopes ? slopes + 2 * width : 0);
    }
    case COLUMN:
        if (TYPED(column)(o->code, n, *x, b, powers < 0 ? 0 : a + powers, Bt + (powers < 0 ? 0 : powers) * ldb, ldb, v, slopes))
            return UNKNOWN_CODE;
        SIMD for (index j = 0; j < n; j++) v[j] *= c;
        if (slopes) SIMD for (index j = 0; j < n; j++) slopes[j] *= c;
        return 0;
    case ANOVA:
        SIMD for (index j = 0; j < n; j++) v[j] = c;
        if (slopes) SIMD for (index j = 0; j < n; j++) slopes[j] = 0;
        for (index k = 0; k < d; k++) {
            REAL *restrict slope = slopes ? slopes + (k + 1) * width : 0;
            REAL *restrict f = slopes ? slopes + (d + k + 1) * width : scratch;
            if (TYPED(column)(o->code, n, x[k], b + k * ldb, powers < 0 ? 0 : a + powers + 2 * k,
                              Bt + (powers < 0 ? 0 : powers + 2 * k) * ldb, ldb, f, slope))
                return UNKNOWN_CODE;
            if (!slopes) {
                SIMD for (index j = 0; j < n; j++) v[j] *= 1 + shape * f[j];
                continue;
            }
            SIMD for (index j = 0; j < n; j++) { /* v is the product of the factors before this one */
                const REAL part = shape * f[j], factor = 1 + part, before = v[j];
                slopes[j] = slopes[j] * factor + before * part;
                slope[j] *= shape * before;
                f[j] = factor;
                v[j] = before * factor;
            }
        }
        return 0;
    default:
        return UNKNOWN_CODE;
    }
}

/* sums[k] += Σⱼ vⱼ (aₖ − bₖⱼ)², four columns at a time where there are: as many sums are under way at once. */
static void TYPED(weighted_squares)(index d, index n, const REAL *restrict v, const REAL *restrict a,
                                    const REAL *restrict Bt, index ldb, double *restrict sums)
{
    index k = 0;
    for (; k + 4 <= d; k += 4) {
        const REAL *restrict b0 = Bt + k * ldb, *restrict b1 = b0 + ldb, *restrict b2 = b1 + ldb, *restrict b3 = b2 + ldb;
        const REAL a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        _Pragma("omp simd reduction(+:s0, s1, s2, s3)") for (index j = 0; j < n; j++) {
            const REAL t0 = a0 - b0[j], t1 = a1 - b1[j], t2 = a2 - b2[j], t3 = a3 - b3[j];
            s0 += v[j] * (t0 * t0);
            s1 += v[j] * (t1 * t1);
            s2 += v[j] * (t2 * t2);
            s3 += v[j] * (t3 * t3);
        }
        sums[k] += s0;
        sums[k + 1] += s1;
        sums[k + 2] += s2;
        sums[k + 3] += s3;
    }
    for (; k < d; k++) {
        const REAL ak = a[k], *restrict b = Bt + k * ldb;
        REAL sum = 0;
        _Pragma("omp simd reduction(+:sum)") for (index j = 0; j < n; j++) sum += v[j] * ((ak - b[j]) * (ak - b[j]));
        sums[k] += sum;
    }
}

/* What weights w of the values v of a leaf give: totals = (Σ w v, Σ w ∂v/∂shape), and Σ w ∂v/∂log ℓ of each column (all
   in the first, where there is one length). v and slopes are overwritten. */
static void TYPED(pull)(const operation *o, index n, index width, const REAL *restrict a, const REAL *restrict Bt, index ldb,
                        const REAL *restrict w, REAL *restrict v, REAL *restrict slopes,
                        double *restrict totals, double *restrict sums)
{
    totals[0] += TYPED(dot)(n, w, v);
    sums += o->first;
    if (o->what == COLUMN && o->lengths) sums[0] += TYPED(dot)(n, w, slopes);
    if (o->what == RADIAL) {
        if (o->lengths) SIMD for (index j = 0; j < n; j++) slopes[j] *= -2 * w[j];
        if (o->lengths == 1) sums[0] += TYPED(dot)(n, slopes, slopes + width);
        if (o->lengths > 1)
            TYPED(weighted_squares)(o->columns, n, slopes, a + o->first, Bt + o->first * ldb, ldb, sums);
        if (o->code == 4) totals[1] += TYPED(dot)(n, w, slopes + 2 * width);
    }
    if (o->what == ANOVA) {
        totals[1] += TYPED(dot)(n, w, slopes);
        SIMD for (index j = 0; j < n; j++) v[j] = w[j];
        for (index k = o->columns - 1; k >= 0; k--) { /* v: w times the factors after this one */
            const REAL *restrict factor = slopes + (o->columns + k + 1) * width;
            sums[k] += TYPED(dot)(n, v, slopes + (k + 1) * width);
            SIMD for (index j = 0; j < n; j++) v[j] *= factor[j];
        }
    }
}

/* Entries of a strip up to whole lines of the cache, if there are as many to be read: the rest of a loop would take
   longer than a line. */
static inline index TYPED(whole_lines)(index here, index room)
{
    const index line = 64 / (index)sizeof(REAL), whole = (here + line - 1) / line * line;
    return whole <= room ? whole : here;
}

/* out[i, j] = k(aᵢ, bⱼ), k the last of count operations; Bt is Bᵀ, of which room >= n columns may be read; work holds
   count + 1 strips of width entries. */
EXPORT int TYPED(tree)(index count, const operation *restrict o, index m, index n, const REAL *restrict A, index lda,
                       const REAL *restrict Bt, index ldb, index room, double largest, index width,
                       REAL *restrict work, REAL *restrict out, index ldo)
{
    work = (REAL *)(((uintptr_t)work + 63) & ~(uintptr_t)63);
    for (index j = 0; j < n; j += width) {
        const index here = n - j < width ? n - j : width, wide = TYPED(whole_lines)(here, room - j);
        for (index i = 0; i < m; i++) {
            REAL *row = out + i * ldo + j;
            for (index q = 0; q < count; q++) {
                REAL *v = q < count - 1 || wide > here ? work + q * width : row, *scratch = work + count * width;
                const REAL *right = q ? work + (q - 1) * width : 0, *left = work + o[q].left * width;
                if (TYPED(step)(o + q, wide, width, A + i * lda, Bt + j, ldb, (REAL)largest, v, left, right, 0, scratch))
                    return UNKNOWN_CODE;
            }
            if (wide > here) memcpy(row, work + (count - 1) * width, (size_t)here * sizeof(REAL));
        }
    }
    return 0;
}

/* With the values of all operations, and back: what `pull` has of each leaf, for the weights W of the values. found has
   the totals of all operations, and then the sums of all columns; work holds the strips that the operations name. */
EXPORT int TYPED(tree_contract)(index count, const operation *restrict o, index m, index n, const REAL *restrict A,
                                index lda, const REAL *restrict Bt, index ldb, index room, double largest, index width,
                                REAL *restrict work, const REAL *restrict W, index ldw, double *restrict found)
{
    REAL *restrict given = (REAL *)(((uintptr_t)work + 63) & ~(uintptr_t)63); /* the weights up to whole lines */
    work = given + width;
    for (index j = 0; j < n; j += width) {
        const index here = n - j < width ? n - j : width, wide = TYPED(whole_lines)(here, room - j);
        for (index k = here; k < wide; k++) given[k] = 0;
        for (index i = 0; i < m; i++) {
            const REAL *restrict a = A + i * lda, *restrict b = Bt + j;
            for (index q = 0; q < count; q++) {
                REAL *v = work + q * width, *slopes = work + o[q].slopes * width;
                const REAL *right = q ? v - width : 0, *left = work + o[q].left * width;
                if (TYPED(step)(o + q, wide, width, a, b, ldb, (REAL)largest, v, left, right, slopes, 0))
                    return UNKNOWN_CODE;
            }
            if (wide > here) memcpy(given, W + i * ldw + j, (size_t)here * sizeof(REAL));
            for (index q = count - 1; q >= 0; q--) {
                const REAL *w = o[q].weights >= 0 ? work + o[q].weights * width : wide > here ? given : W + i * ldw + j;
                REAL *v = work + q * width;
                if (o[q].what == PRODUCT) {
                    REAL *left = work + o[o[q].left].weights * width, *right = work + o[q - 1].weights * width;
                    const REAL *x = work + o[q].left * width, *y = v - width;
                    SIMD for (index k = 0; k < wide; k++) {
                        left[k] = w[k] * y[k];
                        right[k] = w[k] * x[k];
                    }
                } else if (o[q].what != SUM) {
                    TYPED(pull)(o + q, wide, width, a, b, ldb, w, v, work + o[q].slopes * width, found + 2 * q,
                                found + 2 * count);
                }
            }
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
