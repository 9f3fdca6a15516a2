/* Loops over the lower triangle of a matrix, in float64 and in float32. */
#include "native.h"

#define REAL double
#define TYPED(function) NAME(JOIN(function, _float64))
#define ABS fabs
#include "matrix.h"
#undef REAL
#undef TYPED
#undef ABS

#define REAL float
#define TYPED(function) NAME(JOIN(function, _float32))
#define ABS fabsf
#include "matrix.h"
