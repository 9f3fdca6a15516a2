/* Sums over pairs of walks, one in each of two graphs; float64.

   Graphs are runs of nodes: those of graph a are xs[a], …, xe[a] − 1, with labels xl; the neighbours of node i are
   xt[xf[i]], …, xt[xf[i + 1] − 1], counted from the first node of their graph. */
#include "native.h"

/* q = A p on the product graph of x and z, for the `count` pairs of nodes (u, w): first along the edges of x, then along
   those of z. P and T have n columns; P is 0 for pairs that are not there. */
static void neighbours(index m, const index *restrict xf, const index *restrict xt, index n, const index *restrict zf,
                       const index *restrict zt, index count, const index *restrict u, const index *restrict w,
                       const double *restrict p, double *restrict P, double *restrict T, double *restrict q)
{
    for (index c = 0; c < count; c++) P[u[c] * n + w[c]] = p[c];
    for (index i = 0; i < m; i++) {
        double *restrict row = T + i * n;
        SIMD for (index j = 0; j < n; j++) row[j] = 0;
        for (index e = xf[i]; e < xf[i + 1]; e++) {
            const double *restrict other = P + xt[e] * n;
            SIMD for (index j = 0; j < n; j++) row[j] += other[j];
        }
    }
    for (index c = 0; c < count; c++) {
        const double *restrict row = T + u[c] * n;
        double total = 0;
        for (index e = zf[w[c]]; e < zf[w[c] + 1]; e++) total += row[zt[e]];
        q[c] = total;
    }
}

/* out[k] = 1ᵀ(I − λA)⁻¹1 of the product graph of pair k, by conjugate gradients on the pairs of nodes with the same
   label; nan without convergence in `most` steps. Where wanted, slope[k] is the derivative with respect to λ. work holds
   6 s numbers and places 2 s, s the product of the nodes of the largest x and the largest z. */
EXPORT int NAME(walks)(const index *restrict xl, const index *restrict xf, const index *restrict xt,
                       const index *restrict xs, const index *restrict xe, const index *restrict zl,
                       const index *restrict zf, const index *restrict zt, const index *restrict zs,
                       const index *restrict ze, index pairs, const index *restrict left, const index *restrict right,
                       double lambda, double tolerance, index most, int wanted, double *restrict work,
                       index *restrict places, double *restrict out, double *restrict slope)
{
    for (index k = 0; k < pairs; k++) {
        const index s = xs[left[k]], m = xe[left[k]] - s, t = zs[right[k]], n = ze[right[k]] - t, size = m * n;
        double *restrict P = work, *restrict T = P + size, *restrict v = T + size, *restrict r = v + size;
        double *restrict p = r + size, *restrict q = p + size;
        index *restrict u = places, *restrict w = places + size, count = 0, steps = 0;
        for (index i = 0; i < m; i++)
            for (index j = 0; j < n; j++) {
                P[i * n + j] = 0;
                if (xl[s + i] != zl[t + j]) continue;
                u[count] = i;
                w[count] = j;
                v[count] = 0;
                r[count] = p[count] = 1;
                count++;
            }
        double norm = (double)count;
        const double goal = tolerance * tolerance * norm;
        for (; norm > goal && steps < most; steps++) {
            neighbours(m, xf + s, xt, n, zf + t, zt, count, u, w, p, P, T, q);
            double curvature = 0, new = 0;
            _Pragma("omp simd reduction(+:curvature)") for (index c = 0; c < count; c++) {
                q[c] = p[c] - lambda * q[c];
                curvature += p[c] * q[c];
            }
            const double step = norm / curvature;
            _Pragma("omp simd reduction(+:new)") for (index c = 0; c < count; c++) {
                v[c] += step * p[c];
                r[c] -= step * q[c];
                new += r[c] * r[c];
            }
            const double ratio = new / norm;
            SIMD for (index c = 0; c < count; c++) p[c] = r[c] + ratio * p[c];
            norm = new;
        }
        double sum = 0, product = 0;
        _Pragma("omp simd reduction(+:sum)") for (index c = 0; c < count; c++) sum += v[c];
        out[k] = norm <= goal ? sum : NAN;
        if (!wanted) continue;
        neighbours(m, xf + s, xt, n, zf + t, zt, count, u, w, v, P, T, q);
        _Pragma("omp simd reduction(+:product)") for (index c = 0; c < count; c++) product += v[c] * q[c];
        slope[k] = product;
    }
    return 0;
}
