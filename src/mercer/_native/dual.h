/* The loops of dual.c for one precision of K; no guard: it is read twice. */

/* out[i, j] = M[slotsᵢ, columnsⱼ] for first <= i < last, of the rows that are new: whereᵢ < 0. */
EXPORT int TYPED(gather_new)(index first, index last, index q, const REAL *restrict M, index ldm,
                             const index *restrict slots, const index *restrict columns, const index *restrict where,
                             REAL *restrict out, index ldo)
{
    for (index i = first; i < last; i++)
        if (where[i] < 0) {
            const REAL *restrict row = M + slots[i] * ldm;
            REAL *restrict to = out + i * ldo;
            for (index j = 0; j < q; j++) to[j] = row[columns[j]];
        }
    return 0;
}

/* The other rows: from the square ``before``, in which row i is row whereᵢ, and by symmetry from the new ones. */
EXPORT int TYPED(gather_kept)(index first, index last, index q, const REAL *restrict before, index ldb,
                              const index *restrict where, REAL *out, index ldo)
{
    for (index i = first; i < last; i++)
        if (where[i] >= 0) {
            const REAL *restrict row = before + where[i] * ldb;
            for (index j = 0; j < q; j++) out[i * ldo + j] = where[j] >= 0 ? row[where[j]] : out[j * ldo + i];
        }
    return 0;
}

/* g[first:last] += Σₖ coefₖ M[slotsₖ, first:last], four rows at a time in strips that stay in the cache. */
EXPORT int TYPED(add_rows)(index first, index last, index count, const REAL *restrict M, index ldm,
                           const index *restrict slots, const double *restrict coef, double *restrict g)
{
    for (index j0 = first; j0 < last; j0 += STRIP) {
        const index width = last - j0 < STRIP ? last - j0 : STRIP;
        double *restrict part = g + j0;
        index k = 0;
        for (; k + 4 <= count; k += 4) {
            const REAL *restrict r0 = M + slots[k] * ldm + j0, *restrict r1 = M + slots[k + 1] * ldm + j0;
            const REAL *restrict r2 = M + slots[k + 2] * ldm + j0, *restrict r3 = M + slots[k + 3] * ldm + j0;
            const double c0 = coef[k], c1 = coef[k + 1], c2 = coef[k + 2], c3 = coef[k + 3];
            SIMD for (index j = 0; j < width; j++)
                part[j] += (c0 * r0[j] + c1 * r1[j]) + (c2 * r2[j] + c3 * r3[j]);
        }
        for (; k < count; k++) {
            const REAL *restrict row = M + slots[k] * ldm + j0;
            const double c = coef[k];
            SIMD for (index j = 0; j < width; j++) part[j] += c * row[j];
        }
    }
    return 0;
}

/* g += a x + b y; then the smallest g + up, and the first place of it. */
static double TYPED(add_lowest)(index n, double *restrict g, double a, const REAL *restrict x, double b,
                                const REAL *restrict y, const double *restrict up, index *place)
{
    double lowest = INFINITY;
    index at = 0;
    for (index s = 0; s < n; s += PIECE) {
        const index e = s + PIECE < n ? s + PIECE : n;
        double least = INFINITY;
        _Pragma("omp simd reduction(min:least)") for (index j = s; j < e; j++) {
            const double t = g[j] + (a * x[j] + b * y[j]), v = t + up[j];
            g[j] = t;
            least = v < least ? v : least;
        }
        if (least < lowest) lowest = least, at = s;
    }
    while (at + 1 < n && g[at] + up[at] > lowest) at++;
    *place = at;
    return lowest;
}

/* The largest g + down, and the j that gains most, (g + down − base)²/curvature, when i grows and j falls; row and own
   are those of i. The gain is in float32, of slopes times a scale: it only chooses. */
static double TYPED(partner)(index n, const double *restrict g, const double *restrict down, const REAL *restrict row,
                             const float *restrict curve, float own, double base, double scale, float *restrict gain,
                             index *place)
{
    const float tiny = (float)TINY;
    double highest = -INFINITY;
    float best = 0;
    index at = 0, high_at = 0;
    for (index s = 0; s < n; s += PIECE) {
        const index e = s + PIECE < n ? s + PIECE : n;
        double most = -INFINITY;
        float largest = 0;
        _Pragma("omp simd reduction(max:most, largest)") for (index j = s; j < e; j++) {
            const double x = g[j] + down[j];
            const float d = (float)(scale * (x - base)), b = d > 0 ? d : 0, k = (float)row[j];
            const float bend = own + curve[j] - 2 * k, value = b * b / (bend > tiny ? bend : tiny);
            gain[j] = value;
            most = x > most ? x : most;
            largest = value > largest ? value : largest;
        }
        if (most > highest) highest = most, high_at = s;
        if (largest > best) best = largest, at = s;
    }
    if (best > 0) {
        while (at + 1 < n && gain[at] < best) at++;
    } else { /* too small for float32: the steepest one */
        for (at = high_at; at + 1 < n && g[at] + down[at] < highest;) at++;
    }
    *place = at;
    return highest;
}

/* Minimise ½aᵀKa + Σ h(a) over the box with Σa = const, two variables at a time: a and g in place. The pair is libsvm's:
   i with the lowest slope, then j by the second-order gain. found has the steps, the violation before the first step
   and at the end. work holds 2q entries, curve 2q. */
EXPORT int TYPED(smo_pairs)(index q, const REAL *restrict K, index ldk, const double *restrict diag,
                            const double *restrict ridge, const double *restrict eps, const double *restrict low,
                            const double *restrict high, double *restrict a, double *restrict g, double tol,
                            index most, double *restrict work, float *restrict curve, double *restrict found)
{
    double *restrict up = work, *restrict down = work + q, lowest = INFINITY, highest = -INFINITY, di = 0, dj = 0;
    index i = 0, j = 0, step = 0;
    for (index k = 0; k < q; k++) {
        slopes(k, a, eps, low, high, up, down);
        curve[k] = (float)(diag[k] + ridge[k]);
        lowest = g[k] + up[k] < lowest ? g[k] + up[k] : lowest;
        highest = g[k] + down[k] > highest ? g[k] + down[k] : highest;
    }
    const double start = q > 0 ? highest - lowest : 0, scale = start > 0 ? 1 / start : 1;
    double violation = start;
    for (; violation > tol; step++) {
        lowest = TYPED(add_lowest)(q, g, di, K + i * ldk, dj, K + j * ldk, up, &i);
        highest = TYPED(partner)(q, g, down, K + i * ldk, curve, curve[i], lowest, scale, curve + q, &j);
        violation = highest - lowest;
        const double slope = lowest - (g[j] + down[j]);
        if (!(violation > tol) || step == most || !(slope < 0)) break;
        const double both = (diag[i] + ridge[i]) + (diag[j] + ridge[j]) - 2.0 * K[i * ldk + j];
        double ai = a[i], aj = a[j];
        pair_step(&ai, &aj, slope, both > TINY ? both : TINY, low[j], high[i], eps[i], eps[j]);
        di = ai - a[i], dj = aj - a[j];
        a[i] = ai, a[j] = aj;
        g[i] += ridge[i] * di, g[j] += ridge[j] * dj;
        slopes(i, a, eps, low, high, up, down);
        slopes(j, a, eps, low, high, up, down);
    }
    found[0] = (double)step, found[1] = start, found[2] = violation;
    return 0;
}
