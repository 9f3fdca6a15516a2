/* Loops over pairs of rows: φ(‖a − b‖²) and its derivative, and the sum norm, in float64 and in float32. */
#include "native.h"

#define UNKNOWN_CODE 1

/* One operation of a tree of kernels: k is a leaf, or the sum or product of the operation before it and of ``left``.
   Columns are those of the points; strips are counted in the work space. */
typedef struct {
    index what, code, first, columns;
    index powers;  /* the first of the columns e^(ρx), e^(−ρx), of each column in turn; -1: there are none */
    index lengths; /* 0: no length is wanted, 1: one of all columns, 2: one of each */
    index left;
    index weights; /* the strip of what it is contracted with; -1: W itself */
    index slopes;  /* the first strip of what its derivatives are made of */
    double scale, shape; /* c k; and α, or the strength of an Anova kernel */
} operation;

enum { SUM, PRODUCT, CONSTANT, LINEAR, RADIAL, COLUMN, ANOVA };

#define REAL double
#define TYPED(function) NAME(JOIN(function, _float64))
#define EXP exp_float64
#define LOG1P log1p_float64
#define SQRT sqrt
#define ABS fabs
#include "distances.h"
#include "pairs.h"
#undef REAL
#undef TYPED
#undef EXP
#undef LOG1P
#undef SQRT
#undef ABS

#define REAL float
#define TYPED(function) NAME(JOIN(function, _float32))
#define EXP exp_float32
#define LOG1P log1p_float32
#define SQRT sqrtf
#define ABS fabsf
#include "distances.h"
#include "pairs.h"
