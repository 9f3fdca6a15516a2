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
                             index *place, float *most_gain)
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
    *most_gain = best;
    return highest;
}

/* Minimise ½aᵀKa + Σ h(a) over the box, two variables at a time: a and g in place. The pair is libsvm's: i with the
   lowest slope, then j by the second-order gain. With ``sum`` Σa stays as it is; else a variable q without cost and
   bounds is a partner that takes any step alone. found has the steps, the violation before the first step and at the
   end. work holds 2q entries, curve 2q, zeros q of them. */
EXPORT int TYPED(smo_pairs)(index q, const REAL *restrict K, index ldk, int64_t sum, const double *restrict diag,
                            const double *restrict ridge, const double *restrict eps, const double *restrict low,
                            const double *restrict high, double *restrict a, double *restrict g, double tol,
                            index most, double *restrict work, float *restrict curve, const REAL *zeros,
                            double *restrict found)
{
    double *restrict up = work, *restrict down = work + q, lowest = INFINITY, highest = -INFINITY, di = 0, dj = 0;
    const REAL *row_i = zeros, *row_j = zeros;
    index i = 0, j = 0, step = 0;
    for (index k = 0; k < q; k++) {
        slopes(k, a, eps, low, high, up, down);
        curve[k] = (float)(diag[k] + ridge[k]);
        lowest = g[k] + up[k] < lowest ? g[k] + up[k] : lowest;
        highest = g[k] + down[k] > highest ? g[k] + down[k] : highest;
    }
    if (!sum) lowest = lowest < 0 ? lowest : 0, highest = highest > 0 ? highest : 0;
    const double start = q > 0 ? highest - lowest : 0, scale = start > 0 ? 1 / start : 1;
    double violation = start;
    for (; violation > tol; step++) {
        lowest = TYPED(add_lowest)(q, g, di, row_i, dj, row_j, up, &i);
        if (!sum && !(lowest < 0)) lowest = 0, i = q;
        row_i = i < q ? K + i * ldk : zeros;
        const float own = i < q ? curve[i] : 0;
        float gain = 0;
        highest = TYPED(partner)(q, g, down, row_i, curve, own, lowest, scale, curve + q, &j, &gain);
        if (!sum && i < q) {
            const float b = (float)(-scale * lowest), value = b * b / (own > (float)TINY ? own : (float)TINY);
            if (!(highest > 0)) highest = 0;
            if (value >= gain) j = q;
        }
        violation = highest - lowest;
        row_j = j < q ? K + j * ldk : zeros;
        const double slope = lowest - (j < q ? g[j] + down[j] : 0);
        if (!(violation > tol) || step == most || !(slope < 0)) break;
        const double cross = i < q && j < q ? 2.0 * row_i[j] : 0;
        const double bend = (i < q ? diag[i] + ridge[i] : 0) + (j < q ? diag[j] + ridge[j] : 0) - cross;
        double ai = i < q ? a[i] : 0, aj = j < q ? a[j] : 0;
        const double ai0 = ai, aj0 = aj;
        pair_step(&ai, &aj, slope, bend > TINY ? bend : TINY, j < q ? low[j] : -INFINITY, i < q ? high[i] : INFINITY,
                  i < q ? eps[i] : 0, j < q ? eps[j] : 0);
        di = ai - ai0, dj = aj - aj0;
        if (i < q) {
            a[i] = ai, g[i] += ridge[i] * di;
            slopes(i, a, eps, low, high, up, down);
        }
        if (j < q) {
            a[j] = aj, g[j] += ridge[j] * dj;
            slopes(j, a, eps, low, high, up, down);
        }
    }
    found[0] = (double)step, found[1] = start, found[2] = violation;
    return 0;
}
