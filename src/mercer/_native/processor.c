/* Which variant of the loops this machine can run. */
#include "native.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

/* Bits of the extended control register 0: which registers the operating system keeps. */
static uint64_t kept_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

static int all(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

/* The level of x86-64 (1 to 4, as in the psABI) of the processor and the operating system. */
EXPORT int NAME(processor_level)(void)
{
    uint32_t a, b, c, d, b7, c7, d7, c_extended;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    const uint32_t v2 = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23; /* SSE3 to SSE4.2, popcnt */
    if (!all(c, v2)) return 1;
    const uint32_t v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* fma, movbe, osxsave, avx, f16c */
    if (!all(c, v3) || (kept_registers() & 6) != 6) return 2;
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !all(b7, 1u << 3 | 1u << 5 | 1u << 8)) return 2; /* bmi, avx2 */
    if (!__get_cpuid(0x80000001u, &a, &b, &c_extended, &d) || !all(c_extended, 1u << 5)) return 2; /* lzcnt */
    const uint32_t v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* avx512 f, dq, cd, bw, vl */
    return all(b7, v4) && (kept_registers() & 0xe6) == 0xe6 ? 4 : 3;
}
#else
EXPORT int NAME(processor_level)(void) { return 0; }
#endif
