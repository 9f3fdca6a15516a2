/* Discrete optimal transport: one shortest augmenting path after the other; float64. */
#include "native.h"

/* What is known of the paths from a row: their length to each row and column (of columns that are done in `done`), and
   where they came from. */
typedef struct {
    double *restrict u, *restrict v, *restrict to_row, *restrict to_column, *restrict done;
    index *restrict from_column, *restrict from_row, *restrict done_row, *restrict fresh;
} paths;

/* One row reaches every column that is not done, over the reduced costs C − u − v; what is done is at −∞. Returns the
   least distance of a column that is not done. */
static double reach(index m, index i, double base, const double *restrict c, const double *restrict v,
                    double *restrict to, index *restrict from)
{
    double least = INFINITY;
    _Pragma("omp simd reduction(min:least)") for (index k = 0; k < m; k++) {
        const double there = base + c[k] - v[k];
        const int better = there < to[k];
        to[k] = better ? there : to[k];
        from[k] = better ? i : from[k];
        const double open = to[k] > -INFINITY ? to[k] : INFINITY;
        least = open < least ? open : least;
    }
    return least;
}

/* The first place of a value in an array that has it. */
static index find(index m, const double *restrict to, double value)
{
    index k = 0;
    for (int any = 0; k + 16 <= m; k += 16) {
        _Pragma("omp simd reduction(|:any)") for (index j = k; j < k + 16; j++) any |= to[j] == value;
        if (any) break;
    }
    while (to[k] != value) k++;
    return k;
}

/* Rows that are not done and have flow, in the order of their numbers; returns how many. */
static index flowing(index q, const double *restrict flow, const index *restrict done, index *restrict rows)
{
    index count = 0;
    for (index i0 = 0; i0 < q; i0 += 16) {
        const index i1 = i0 + 16 < q ? i0 + 16 : q;
        int any = 0;
        _Pragma("omp simd reduction(|:any)") for (index i = i0; i < i1; i++) any |= flow[i] > 0;
        if (!any) continue;
        for (index i = i0; i < i1; i++)
            if (flow[i] > 0 && !done[i]) rows[count++] = i;
    }
    return count;
}

/* Dijkstra from row start to the first column that can still take something, forth along any entry and back along one
   with F > 0; returns the column, −1 where all are full, and adds to u and v what keeps reduced costs >= 0. */
static index search(index q, index m, index start, const double *restrict C, const double *restrict b, double tiny,
                    const double *restrict F, paths at)
{
    SIMD for (index k = 0; k < m; k++) at.to_column[k] = INFINITY;
    for (index i = 0; i < q; i++) at.done_row[i] = 0;
    at.from_column[start] = -1;
    at.to_row[start] = 0;
    at.done_row[start] = 1;
    at.fresh[0] = start;
    index count = 1, end;
    double length = 0;
    for (;;) {
        double least = INFINITY; /* the rows reached last reach every column; without one nothing changes */
        if (!count) least = reach(m, -1, INFINITY, C, at.v, at.to_column, at.from_row);
        for (index f = 0; f < count; f++) {
            const index i = at.fresh[f];
            least = reach(m, i, length - at.u[i], C + i * m, at.v, at.to_column, at.from_row);
        }
        if (!(least < INFINITY)) return -1;
        length = least;
        end = find(m, at.to_column, length);
        at.to_column[end] = -INFINITY;
        at.done[end] = length;
        if (b[end] > tiny) break;
        count = flowing(q, F + end * q, at.done_row, at.fresh);
        for (index f = 0; f < count; f++) { /* and back along the flow into this column */
            const index i = at.fresh[f];
            at.done_row[i] = 1;
            at.from_column[i] = end;
            at.to_row[i] = length;
        }
    }
    for (index i = 0; i < q; i++)
        if (at.done_row[i]) at.u[i] += length - at.to_row[i];
    for (index k = 0; k < m; k++)
        if (at.to_column[k] == -INFINITY) at.v[k] -= length - at.done[k];
    return end;
}

/* F = argmin Σᵢₖ Fᵢₖ Cᵢₖ, F >= 0, of row sums a and column sums b, which are used up; masses up to tiny count as none.
   C is q × m, F is Fᵀ and 0 on entry; work holds 2 q + 3 m numbers, places 3 q + m. */
EXPORT int NAME(cheapest_flow)(index q, index m, const double *restrict C, double *restrict a, double *restrict b,
                               double tiny, double *restrict F, double *restrict work, index *restrict places)
{
    const paths at = {work,   work + q,   work + q + m,   work + 2 * q + m,  work + 2 * q + 2 * m,
                      places, places + q, places + q + m, places + 2 * q + m};
    for (index i = 0; i < q + m; i++) work[i] = 0;
    for (index start = 0; start < q; start++)
        while (a[start] > tiny) {
            const index end = search(q, m, start, C, b, tiny, F, at);
            if (end < 0) return 0; /* what is left of a is rounding */
            double mass = a[start] < b[end] ? a[start] : b[end];
            for (index k = end; at.from_row[k] != start; k = at.from_column[at.from_row[k]]) {
                const index i = at.from_row[k];
                const double there = F[at.from_column[i] * q + i];
                mass = there < mass ? there : mass;
            }
            a[start] -= mass;
            b[end] -= mass;
            for (index k = end, i = at.from_row[k];; i = at.from_row[k]) {
                F[k * q + i] += mass;
                if (i == start) break;
                k = at.from_column[i];
                F[k * q + i] = F[k * q + i] - mass > tiny ? F[k * q + i] - mass : 0;
            }
        }
    return 0;
}
