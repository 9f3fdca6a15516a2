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

#define index mercer_index /* macOS has a function of this name in string.h */
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

/* log(1 + u) for u >= 0, without a branch: 1 + u = 2^k m with √½ <= m < √2, and log m = 2s + s³R(s²), s = (m−1)/(m+1). */
static inline double log1p_float64(double u)
{
    const double shift = 6755399441055744.0, w = 1.0 + u, lost = (u - (w - 1.0)) / w;
    union { double real; uint64_t bits; } whole = {w}, part, power = {shift};
    const uint64_t k = (whole.bits - 0x3FE6A09E667F3BCDu) >> 52; /* w >= 1 */
    part.bits = whole.bits - (k << 52);
    power.bits += k;
    const double e = power.real - shift, s = (part.real - 1.0) / (part.real + 1.0), z = s * s;
    double p = 0.146164496850434059; /* R at the Chebyshev points: 5e-18 */
    p = p * z + 0.153317216005560413;
    p = p * z + 0.181828891252617221;
    p = p * z + 0.222222111347950799;
    p = p * z + 0.285714286259754849;
    p = p * z + 0.399999999998995045;
    p = p * z + 0.666666666666666969;
    return e * 0.6931471803691238 + (2.0 * s + (s * z * p + (e * 1.9082149292705877e-10 + lost)));
}

/* log(1 + u) for u >= 0 in float32. */
static inline float log1p_float32(float u)
{
    const float shift = 12582912.0f, w = 1.0f + u, lost = (u - (w - 1.0f)) / w;
    union { float real; uint32_t bits; } whole = {w}, part, power = {shift};
    const uint32_t k = (whole.bits - 0x3F3504F3u) >> 23;
    part.bits = whole.bits - (k << 23);
    power.bits += k;
    const float e = power.real - shift, s = (part.real - 1.0f) / (part.real + 1.0f), z = s * s;
    float p = 0.233304672f;
    p = p * z + 0.285508208f;
    p = p * z + 0.400001218f;
    p = p * z + 0.666666666f;
    return e * 0.693359375f + (2.0f * s + (s * z * p + (e * -2.12194440e-4f + lost)));
}

#endif
