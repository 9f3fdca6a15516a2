/* What the C files share: names with the suffix of a variant, and exp.

   Every function is exported as <function>_<type>_<variant>, for example radial_float64_v3; processor.c says which
   variant a machine can run. All arrays are in C order, a leading dimension counts entries; nothing allocates, and
   what can go wrong is returned as a number that Python turns into an exception. */
#ifndef MERCER_NATIVE_H
#define MERCER_NATIVE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(function) JOIN(function, VARIANT)
#define SIMD _Pragma("omp simd")

typedef int64_t index;

/* exp(x) = 2^k e^r, |r| <= ln2/2, without a branch, so that the loop around it vectorises. */
static inline double exp_float64(double x)
{
    const double shift = 6755399441055744.0; /* the low bits of t hold k */
    double y = x < -708.3 ? -708.3 : x;
    y = y > 709.7 ? 709.7 : y;
    const double t = y * 1.4426950408889634 + shift, k = t - shift;
    const double r = (y - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    /* the interpolating polynomial of (e^r − 1 − r)/r² at the Chebyshev points: 2e-17 relative in e^r */
    double p = 2.510038549551032e-08;
    p = p * r + 2.7620088445409746e-07;
    p = p * r + 2.7557268459997064e-06;
    p = p * r + 2.4801521295954376e-05;
    p = p * r + 0.00019841269863053618;
    p = p * r + 0.0013888888917213717;
    p = p * r + 0.008333333333330062;
    p = p * r + 0.04166666666662413;
    p = p * r + 0.16666666666666669;
    p = p * r + 0.5000000000000001;
    p = (p * r) * r + r + 1.0;
    union { double real; uint64_t bits; } value = {p}, power = {t};
    value.bits += power.bits << 52;
    return x < -708.3 ? 0.0 : value.real;
}

/* exp(x) in float32. */
static inline float exp_float32(float x)
{
    const float shift = 12582912.0f;
    float y = x < -87.3f ? -87.3f : x;
    y = y > 88.7f ? 88.7f : y;
    const float t = y * 1.4426950408889634f + shift, k = t - shift;
    const float r = (y - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 0.0013926183587713494f;
    p = p * r + 0.008363179052722578f;
    p = p * r + 0.041666554617204574f;
    p = p * r + 0.16666576989698775f;
    p = p * r + 0.5f;
    p = (p * r) * r + r + 1.0f;
    union { float real; uint32_t bits; } value = {p}, power = {t};
    value.bits += power.bits << 23;
    return x < -87.3f ? 0.0f : value.real;
}

#endif
