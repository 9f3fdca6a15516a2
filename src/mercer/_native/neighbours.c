/* The nearest rows of a point, and the small systems that they make; float64. */
#include "native.h"

#define REAL double
#define TYPED(function) NAME(JOIN(function, _float64))
#include "distances.h"

#define STRIP 512 /* columns whose distances are in cache while they are looked at */

/* Whether (s, j) comes after (t, k): farther, or as far and later. */
static inline int after(double s, index j, double t, index k) { return s > t || (s == t && j > k); }

/* Put a pair in the place of the first of a heap of size pairs. */
static void sift(index size, double *restrict s, index *restrict found, double value, index place)
{
    index i = 0;
    for (index child = 1; child < size; child = 2 * i + 1) {
        if (child + 1 < size && after(s[child + 1], found[child + 1], s[child], found[child])) child++;
        if (!after(s[child], found[child], value, place)) break;
        s[i] = s[child];
        found[i] = found[child];
        i = child;
    }
    s[i] = value;
    found[i] = place;
}

/* Let the columns first, first + 1, … < upto, without own, into a heap of the k least. */
static void admit(index k, index width, const double *restrict row, index first, index upto, index own,
                  double *restrict s, index *restrict found)
{
    const index n = upto - first < width ? upto - first : width;
    for (index j0 = 0; j0 < n; j0 += 16) {
        const index j1 = j0 + 16 < n ? j0 + 16 : n;
        const double limit = s[0];
        int any = 0;
        _Pragma("omp simd reduction(|:any)") for (index j = j0; j < j1; j++) any |= row[j] < limit;
        if (!any) continue;
        for (index j = j0; j < j1; j++)
            if (row[j] < s[0] && first + j != own) sift(k, s, found, row[j], first + j);
    }
}

/* From a heap to ascending order. */
static void arrange(index k, double *restrict s, index *restrict found)
{
    for (index size = k - 1; size > 0; size--) {
        const double value = s[size];
        const index place = found[size];
        s[size] = s[0];
        found[size] = found[0];
        sift(size, s, found, value, place);
    }
    for (index i = 0; i < k; i++)
        if (found[i] == INT64_MAX) found[i] = -1;
}

static void empty(index count, double *restrict s, index *restrict found)
{
    for (index i = 0; i < count; i++) {
        s[i] = INFINITY;
        found[i] = INT64_MAX; /* after all that there are */
    }
}

/* found[i]: the k columns j < uptoᵢ, j ≠ ownᵢ, of least finite Sᵢⱼ, in ascending order; −1 where there are fewer.
   s holds k numbers. */
EXPORT int NAME(smallest)(index m, index n, index k, const double *restrict S, index lds, const index *restrict upto,
                          const index *restrict own, double *restrict s, index *restrict found)
{
    if (k < 1) return 0;
    for (index i = 0; i < m; i++) {
        empty(k, s, found + i * k);
        admit(k, n, S + i * lds, 0, upto[i], own[i], s, found + i * k);
        arrange(k, s, found + i * k);
    }
    return 0;
}

/* found[i]: the k rows b of least ‖aᵢ − b‖² among the first uptoᵢ, without ownᵢ, nearest first; −1 where there are
   fewer. Bt is Bᵀ; s holds m k numbers. All rows of A pass a strip of B that stays in cache. */
EXPORT int NAME(nearest)(index m, index d, index n, index k, const double *restrict A, index lda,
                         const double *restrict Bt, index ldb, const index *restrict upto, const index *restrict own,
                         double *restrict s, index *restrict found)
{
    double row[STRIP];
    if (k < 1) return 0;
    empty(m * k, s, found);
    for (index first = 0; first < n; first += STRIP)
        for (index i = 0; i < m; i++) {
            const index left = (upto[i] < n ? upto[i] : n) - first, width = left < STRIP ? left : STRIP;
            if (width < 1) continue;
            TYPED(distances)(d, width, A + i * lda, Bt + first, ldb, 1e300, row);
            admit(k, width, row, first, upto[i], own[i], s + i * k, found + i * k);
        }
    for (index i = 0; i < m; i++) arrange(k, s + i * k, found + i * k);
    return 0;
}

/* rowⱼ −= Σᵢ Uᵢⱼ Uᵢc for i < count and c <= j < size, four rows at a time, so that the row is read a quarter as often. */
static void subtract_rows(index count, index size, index c, const double *restrict U, double *restrict row)
{
    index i = count % 4;
    for (index q = 0; q < i; q++) {
        const double *restrict u = U + q * size, a = u[c];
        SIMD for (index j = c; j < size; j++) row[j] -= a * u[j];
    }
    for (; i < count; i += 4) {
        const double *restrict u0 = U + i * size, *restrict u1 = u0 + size, *restrict u2 = u1 + size;
        const double *restrict u3 = u2 + size, a0 = u0[c], a1 = u1[c], a2 = u2[c], a3 = u3[c];
        SIMD for (index j = c; j < size; j++) row[j] -= (a0 * u0[j] + a1 * u1[j]) + (a2 * u2[j] + a3 * u3[j]);
    }
}

/* UᵀU = C in the upper triangle, but for the last pivot, which keeps its square; a row that those before it explain is
   absent from then on, and 0 with a pivot of 1. Returns how many were dropped. */
static index factor(index size, double *restrict C, uint8_t *restrict absent, double tolerance)
{
    index dropped = 0;
    for (index i = 0; i < size; i++) {
        double *restrict row = C + i * size;
        const double whole = row[i];
        const int last = i == size - 1;
        if (last || !absent[i]) subtract_rows(i, size, i, C, row);
        if (last) {
            row[i] = row[i] > 0 ? row[i] : 0;
        } else if (!absent[i] && row[i] > tolerance * whole) {
            const double root = sqrt(row[i]);
            row[i] = root;
            SIMD for (index j = i + 1; j < size; j++) row[j] /= root;
        } else {
            dropped += !absent[i];
            absent[i] = 1;
            row[i] = 1;
            for (index j = i + 1; j < size; j++) row[j] = 0;
        }
    }
    return dropped;
}

/* x ← U⁻¹x with the first k rows of U. */
static void backward(index k, const double *restrict U, double *restrict x)
{
    for (index i = k - 1; i >= 0; i--) {
        const double *restrict u = U + i * (k + 1);
        double sum = 0;
        _Pragma("omp simd reduction(+:sum)") for (index j = i + 1; j < k; j++) sum += u[j] * x[j];
        x[i] = (x[i] - sum) / u[i];
    }
}

/* x ← U⁻ᵀx, 0 where a row is absent. */
static void forward(index k, const double *restrict U, const uint8_t *restrict absent, double *restrict x)
{
    for (index i = 0; i < k; i++) {
        const double *restrict u = U + i * (k + 1);
        x[i] = absent[i] ? 0 : x[i] / u[i];
        const double a = x[i];
        SIMD for (index j = i + 1; j < k; j++) x[j] -= a * u[j];
    }
}

/* For each of b systems C = [[A, k], [kᵀ, c]]: weights A⁻¹k, variance c − kᵀA⁻¹k, solved A⁻¹Y (t right-hand sides, in
   solved on entry). A row is absent if A has it twice, to tolerance. C is used up; dropped counts the rows that went. */
EXPORT int NAME(conditionals)(index b, index k, index t, double *restrict C, uint8_t *restrict absent,
                              double tolerance, double *restrict weights, double *restrict variance,
                              double *restrict solved, index *restrict dropped)
{
    const index size = k + 1;
    for (index i = 0; i < b; i++) {
        double *restrict U = C + i * size * size, *restrict w = weights + i * k;
        uint8_t *restrict gone = absent + i * k;
        *dropped += factor(size, U, gone, tolerance);
        variance[i] = U[size * size - 1];
        for (index j = 0; j < k; j++) w[j] = U[j * size + k];
        backward(k, U, w);
        for (index j = i * t; j < (i + 1) * t; j++) {
            forward(k, U, gone, solved + j * k);
            backward(k, U, solved + j * k);
        }
    }
    return 0;
}
