/* Loops over pairs of rows: φ(‖a − b‖²) and its derivative, and the sum norm, in float64 and in float32. */
#include "native.h"

#define UNKNOWN_CODE 1

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
