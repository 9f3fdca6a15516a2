/* Loops of the working-set solver of ½αᵀKα + Σ hᵢ(αᵢ), with K in float64 and in float32.

   h(a) = −ya + ε|a| + ½ra² has a kink at 0, so a variable has two slopes: g + up when it grows and g + down when it
   falls, with g = Kα + rα − y. A variable at its upper end has up = ∞, one at its lower end down = −∞. Two slopes are
   all that choosing needs; they change for the variables that move, and for no other. */
#include "native.h"

#define PIECE 128   /* entries in which the place of a minimum is looked for */
#define TINY 1e-12  /* curvature of a flat direction, relative to 1: the step then ends at a bound */
#define STRIP 1024  /* entries of a gradient that stay in the first-level cache while rows are added */

/* Set the two slopes of variable i, less g. */
static void slopes(index i, const double *a, const double *eps, const double *low, const double *high, double *up,
                   double *down)
{
    up[i] = a[i] >= high[i] ? INFINITY : a[i] >= 0 ? eps[i] : -eps[i];
    down[i] = a[i] <= low[i] ? -INFINITY : a[i] > 0 ? eps[i] : -eps[i];
}

/* The step of a pair: i grows and j falls as far as the objective falls, past the kinks at 0. */
static void pair_step(double *ai, double *aj, double slope, double bend, double low, double high, double eps_i,
                      double eps_j)
{
    for (;;) { /* to the next place where the slope jumps or a bound is met, of each of the two */
        const double wall_i = *ai < 0 ? -*ai : high - *ai, wall_j = *aj > 0 ? *aj : *aj - low;
        const double wall = wall_i < wall_j ? wall_i : wall_j;
        const double move = -slope / bend < wall ? -slope / bend : wall;
        const int hit_i = move >= wall_i, hit_j = move >= wall_j;
        const int kink_i = hit_i && *ai < 0, kink_j = hit_j && *aj > 0;
        *ai = !hit_i ? *ai + move : kink_i ? 0 : high;
        *aj = !hit_j ? *aj - move : kink_j ? 0 : low;
        slope += bend * move + 2 * ((kink_i ? eps_i : 0) + (kink_j ? eps_j : 0));
        if (!(hit_i || hit_j) || *ai >= high || *aj <= low || !(slope < 0)) return;
    }
}

#define REAL double
#define TYPED(function) NAME(JOIN(function, _float64))
#include "dual.h"
#undef REAL
#undef TYPED

#define REAL float
#define TYPED(function) NAME(JOIN(function, _float32))
#include "dual.h"
