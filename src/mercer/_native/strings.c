/* Dynamic programmes over pairs of strings: common subsequences, and the sum over local alignments; float64.

   Strings are runs of one array of codes: x[xs[a]], …, x[xe[a] − 1] is string a. Pair p is (left[p], right[p]); its
   value goes to out[p], and the derivative with respect to the one continuous parameter to slope[p] (where wanted).
   LANES pairs go side by side, the shorter strings filled up with letters that nothing matches. */
#include "native.h"

#if defined(__AVX512F__) /* as many as a register holds; never more than 8 */
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#define LARGE 1e120 /* a sum beyond it is taken down by SMALL, and the logarithm remembers */
#define SMALL 1e-120

typedef double reals __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef index codes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* value where the mask is −1, 0 where it is 0. */
static inline reals where(codes mask, reals value)
{
    const union { reals real; codes bits; } given = {value};
    const union { codes bits; reals real; } found = {given.bits & mask};
    return found.real;
}

/* Strings side by side: letters[i][k] is letter i of string which[k] (k < lanes), `filler` beyond its end and in other
   lanes. Returns the length of the longest. */
static index side_by_side(const index *restrict x, const index *restrict xs, const index *restrict xe,
                          const index *restrict which, index lanes, index filler, index *restrict letters)
{
    index most = 0;
    for (index k = 0; k < lanes; k++) {
        const index length = xe[which[k]] - xs[which[k]];
        most = length > most ? length : most;
    }
    for (index i = 0; i < most * LANES; i++) letters[i] = filler;
    for (index k = 0; k < lanes; k++) {
        const index *restrict from = x + xs[which[k]], length = xe[which[k]] - xs[which[k]];
        for (index i = 0; i < length; i++) letters[i * LANES + k] = from[i];
    }
    return most;
}

/* One letter s more of x: longer[j] = Σ over common subsequences of l + 1 letters in what was read of x and the first
   j + 1 letters of z, each weighted up to the ends of what was read, from those of l letters in R; before s was read. */
static void lengthen(codes s, index n, const codes *restrict t, double decay, const reals *restrict R,
                     reals *restrict longer)
{
    const double square = decay * decay;
    reals w = {0};
    for (index j = 0; j < n; j++) {
        w = decay * w + where(t[j] == s, square * R[j]);
        longer[j] = decay * longer[j] + w;
    }
}

/* `lengthen`, and its derivative with respect to decay, from D to slope. */
static void lengthen_both(codes s, index n, const codes *restrict t, double decay, const reals *restrict R,
                          const reals *restrict D, reals *restrict longer, reals *restrict slope)
{
    const double square = decay * decay, twice = 2 * decay;
    reals w = {0}, dw = {0};
    for (index j = 0; j < n; j++) {
        const codes same = t[j] == s;
        dw = w + decay * dw + where(same, twice * R[j] + square * D[j]);
        w = decay * w + where(same, square * R[j]);
        slope[j] = longer[j] + decay * slope[j] + dw;
        longer[j] = decay * longer[j] + w;
    }
}

/* Σ over common subsequences of `length` letters of decay^(span in x + span in z). work holds 16 length (b + 1)
   numbers and letters 8 (a + b), for the longest x and z of a and b letters. */
EXPORT int NAME(subsequence)(const index *restrict x, const index *restrict xs, const index *restrict xe,
                             const index *restrict z, const index *restrict zs, const index *restrict ze, index pairs,
                             const index *restrict left, const index *restrict right, index length, double decay,
                             int wanted, double *restrict work, index *restrict letters, double *restrict out,
                             double *restrict slope)
{
    for (index p = 0; p < pairs; p += LANES) {
        const index lanes = pairs - p < LANES ? pairs - p : LANES;
        const index m = side_by_side(x, xs, xe, left + p, lanes, -1, letters);
        const index n = side_by_side(z, zs, ze, right + p, lanes, -2, letters + m * LANES);
        const codes *restrict s = (const codes *)letters, *restrict t = s + m;
        reals *restrict R = (reals *)work, *restrict D = R + length * (n + 1), total = {0}, d_total = {0};
        for (index j = 0; j < length * (n + 1); j++) {
            R[j] = (reals){0} + (j <= n ? 1.0 : 0.0); /* one subsequence of no letters */
            D[j] = (reals){0};
        }
        for (index i = 0; i < m; i++) {
            index l = (length - 1) * (n + 1);
            for (index j = 0; j < n; j++) total += where(t[j] == s[i], R[l + j]);
            if (wanted)
                for (index j = 0; j < n; j++) d_total += where(t[j] == s[i], D[l + j]);
            for (; l > 0; l -= n + 1) {
                const index short_l = l - n - 1;
                if (wanted)
                    lengthen_both(s[i], n, t, decay, R + short_l, D + short_l, R + l + 1, D + l + 1);
                else
                    lengthen(s[i], n, t, decay, R + short_l, R + l + 1);
            }
        }
        for (index k = 0; k < lanes; k++) {
            out[p + k] = decay * decay * total[k];
            if (wanted) slope[p + k] = decay * (2 * total[k] + decay * d_total[k]);
        }
    }
    return 0;
}

/* The state after some letters of x, at a place of z: M ends in a pair of letters, X and Y in a gap of one string or the
   other. */
typedef struct {
    reals M, X, Y;
} state;

/* E[s, t] of each lane; `rows` are the places of the rows E[s, ·]. */
static inline reals scores(const double *restrict E, codes rows, codes t)
{
    const codes places = rows + t;
    reals found;
    for (int k = 0; k < LANES; k++) found[k] = E[places[k]];
    return found;
}

/* The next row of states for the letters whose scores are E[rows, ·]; returns Σⱼ M[j]. `one` is what an alignment
   begins with; start = e^(−β open), extend = e^(−β extend). */
static reals align(index n, const codes *restrict t, const double *restrict E, codes rows, reals one, double start,
                   double extend, state *restrict at)
{
    state before = {{0}}, new = {{0}};
    reals sum = {0};
    for (index j = 0; j < n; j++) {
        const state old = at[j];
        new.Y = start * (new.M + new.X) + extend * new.Y;
        new.M = scores(E, rows, t[j]) * (one + before.M + before.X + before.Y);
        new.X = start * old.M + extend * old.X;
        at[j] = new;
        before = old;
        sum += new.M;
    }
    return sum;
}

/* `align`, and the derivatives with respect to β in d; gaps = (start, its derivative, extend, its derivative). */
static reals align_both(index n, const codes *restrict t, const double *restrict E, const double *restrict dE,
                        codes rows, reals one, const double *restrict gaps, state *restrict at, state *restrict d,
                        reals *restrict d_total)
{
    const double start = gaps[0], d_start = gaps[1], extend = gaps[2], d_extend = gaps[3];
    state before = {{0}}, new = {{0}}, d_before = {{0}}, d_new = {{0}};
    reals sum = {0};
    for (index j = 0; j < n; j++) {
        const state old = at[j], d_old = d[j];
        const reals e = scores(E, rows, t[j]), begun = one + before.M + before.X + before.Y;
        d_new.Y = start * (d_new.M + d_new.X) + d_start * (new.M + new.X) + extend * d_new.Y + d_extend * new.Y;
        new.Y = start * (new.M + new.X) + extend * new.Y;
        d_new.M = scores(dE, rows, t[j]) * begun + e * (d_before.M + d_before.X + d_before.Y);
        new.M = e * begun;
        d_new.X = start * d_old.M + d_start * old.M + extend * d_old.X + d_extend * old.X;
        new.X = start * old.M + extend * old.X;
        at[j] = new;
        d[j] = d_new;
        before = old;
        d_before = d_old;
        sum += new.M;
        *d_total += d_new.M;
    }
    return sum;
}

/* log of 1 + Σ over local alignments of e^(β score), and its derivative with respect to β. E = e^(β substitution) and
   dE = ∂E/∂β have `size` columns, the last row and column 0, for what is not there. work holds 48 b numbers and letters
   8 (a + b), for the longest x and z of a and b letters. */
EXPORT int NAME(alignment)(const index *restrict x, const index *restrict xs, const index *restrict xe,
                           const index *restrict z, const index *restrict zs, const index *restrict ze, index pairs,
                           const index *restrict left, const index *restrict right, index size,
                           const double *restrict E, const double *restrict dE, const double *restrict gaps, int wanted,
                           double *restrict work, index *restrict letters, double *restrict out,
                           double *restrict slope)
{
    for (index p = 0; p < pairs; p += LANES) {
        const index lanes = pairs - p < LANES ? pairs - p : LANES;
        const index m = side_by_side(x, xs, xe, left + p, lanes, size - 1, letters);
        const index n = side_by_side(z, zs, ze, right + p, lanes, size - 1, letters + m * LANES);
        const codes *restrict s = (const codes *)letters, *restrict t = s + m;
        state *restrict at = (state *)work, *restrict d = at + n;
        reals one = (reals){0} + 1.0, total = one, d_total = {0}, scale = {0};
        memset(work, 0, (size_t)((wanted ? 2 : 1) * n) * sizeof(state));
        for (index i = 0; i < m; i++) {
            total += wanted ? align_both(n, t, E, dE, size * s[i], one, gaps, at, d, &d_total)
                            : align(n, t, E, size * s[i], one, gaps[0], gaps[2], at);
            const codes large = total > LARGE;
            int any = 0;
            for (int k = 0; k < LANES; k++) any |= large[k] != 0;
            if (!any) continue;
            const reals down = where(large, (reals){0} + SMALL) + where(~large, (reals){0} + 1.0);
            one *= down;
            total *= down;
            d_total *= down;
            scale += where(large, (reals){0} + 1.0);
            reals *restrict all = (reals *)work;
            for (index j = 0; j < (wanted ? 6 : 3) * n; j++) all[j] *= down;
        }
        for (index k = 0; k < lanes; k++) {
            out[p + k] = log(total[k]) - scale[k] * log(SMALL);
            if (wanted) slope[p + k] = d_total[k] / total[k];
        }
    }
    return 0;
}
