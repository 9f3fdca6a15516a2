"""A list of BLAS calls, made by several threads without Python between them: waking a thread for each would cost more.

A list is phases of tasks of calls. The calls of a task are made in order, the tasks of a phase by whoever is free, and
a phase begins when the one before it is done. A thread that comes late finds less to do, and one that does not come is
not missed. Columns of a call: the address of the routine, its number of arguments, where LAPACK says how it went (an
entry of ``infos``; −1: nowhere), what is added to that where it failed, then the addresses of the arguments.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from mercer._loops.core import OPTIONS

ARGUMENTS = 4  # the first column of them
FAILED, FIRST = 0, 1  # entries of the state; from FIRST on two for each phase: tasks taken, tasks done
PATIENCE = 100_000  # looks at a phase that others are at, some 50 µs; then Python may run
PHASES = 8  # after so many Python may run, for Ctrl-C

_WORD, _POINTER = ir.IntType(64), ir.IntType(8).as_pointer()


@intrinsic
def _look(typingctx, address):
    """The integer at an address, as other threads left it."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(builder.inttoptr(args[0], _WORD.as_pointer()), "acquire", 8)

    return types.int64(types.intp), codegen


@intrinsic
def _take(typingctx, address):
    """The integer at an address, which grows by 1."""

    def codegen(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.atomic_rmw("add", pointer, ir.Constant(_WORD, 1), "seq_cst")

    return types.int64(types.intp), codegen


def _caller(count):
    """call(routine, arguments): a C function of ``count`` pointers, which lie at the address ``arguments``."""

    @intrinsic
    def call(typingctx, routine, arguments):
        def codegen(context, builder, signature, args):
            first = builder.inttoptr(args[1], _WORD.as_pointer())
            words = [builder.load(builder.gep(first, [ir.Constant(_WORD, i)])) for i in range(count)]
            kind = ir.FunctionType(ir.VoidType(), [_POINTER] * count).as_pointer()
            builder.call(builder.inttoptr(args[0], kind), [builder.inttoptr(word, _POINTER) for word in words])
            return context.get_dummy_value()

        return types.none(types.intp, types.intp), codegen

    return call


_call5, _call6, _call10, _call11, _call13 = (_caller(count) for count in (5, 6, 10, 11, 13))


@njit(**OPTIONS)
def _call(routine, count, arguments):
    """Call a routine: those of ``solvers._record`` have one of these numbers of arguments."""
    if count == 13:
        _call13(routine, arguments)
    elif count == 11:
        _call11(routine, arguments)
    elif count == 10:
        _call10(routine, arguments)
    elif count == 6:
        _call6(routine, arguments)
    elif count == 5:
        _call5(routine, arguments)
    else:
        raise ValueError("no routine has so many arguments")


@njit(**OPTIONS)
def _task(calls, first, last, infos, state):
    """Make the calls of one task; False where LAPACK refused."""
    for c in range(first, last):
        _call(calls[c, 0], calls[c, 1], calls[c, ARGUMENTS:].ctypes.data)
        told = calls[c, 2]
        if told >= 0 and infos[told] != 0:
            state[FAILED] = calls[c, 3] + infos[told]
            return False
    return True


@njit(**OPTIONS)
def work(calls, tasks, phases, infos, state, phase):
    """Do what is left from ``phase`` on, for a while; returns the phase to go on with, or the number of phases.

    ``tasks[t]`` is the first call of task t, ``phases[p]`` the first task of phase p, both with their end.
    """
    end, base = phases.size - 1, state.ctypes.data
    last = min(phase + PHASES, end)
    while phase < last:
        first, count = phases[phase], phases[phase + 1] - phases[phase]
        taken = base + 8 * (FIRST + 2 * phase)
        done = taken + 8
        while True:
            t = _take(taken)
            if t >= count:
                break
            if not _task(calls, tasks[first + t], tasks[first + t + 1], infos, state):
                return end
            _take(done)
        looks = 0
        while _look(done) < count:
            if _look(base + 8 * FAILED) != 0:
                return end
            looks += 1
            if looks > PATIENCE:
                return phase
        phase += 1
    return last
