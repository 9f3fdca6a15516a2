/* A matrix, its lower triangle and its transpose, in float64 and in float32. */
#include "native.h"

#define REAL double
#define TYPED(function) NAME(JOIN(function, _float64))
#define ABS fabs
#define SIDE 8
#include "matrix.h"
#undef REAL
#undef TYPED
#undef ABS
#undef SIDE

#define REAL float
#define TYPED(function) NAME(JOIN(function, _float32))
#define ABS fabsf
#define SIDE 16
#include "matrix.h"
