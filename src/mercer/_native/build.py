"""Compile the C files of this folder into one library; the package's build hook and ``make`` run it.

``python build.py`` compiles for this machine, beside the sources, and does nothing where that was done before;
``python build.py --target aarch64-macos --to FOLDER`` for another one, with zig. For x86-64 every file is compiled for
three generations of processors into the same library, and the best that a processor has is chosen when it is loaded.
It needs nothing but Python: neither mercer nor NumPy is imported.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=c99", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast", "-fno-math-errno"]
FLAGS += ["-fno-trapping-math", "-fno-signed-zeros", "-fopenmp-simd", "-g0"]
FLAGS += ["-fno-sanitize=undefined"]  # zig would add it
_V2 = ["-msse3", "-mssse3", "-msse4.1", "-msse4.2", "-mpopcnt", "-mcx16", "-msahf"]
_V3 = [*_V2, "-mavx", "-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c", "-mlzcnt", "-mmovbe", "-mxsave"]
_V4 = [*_V3, "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
LEVELS = {  # of x86-64, spelled out: gcc knows the names of the levels from version 11 on only
    "_v2": ["-march=x86-64", *_V2],
    "_v3": ["-march=x86-64", *_V3],
    "_v4": ["-march=x86-64", *_V4],
}
TARGETS = {  # the machine that a wheel is for, as zig calls it, and the wheel's tag
    "x86_64-linux": ("x86_64-linux-gnu.2.17", "manylinux2014_x86_64"),
    "aarch64-linux": ("aarch64-linux-gnu.2.17", "manylinux2014_aarch64"),
    "x86_64-macos": ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "aarch64-macos": ("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "x86_64-windows": ("x86_64-windows-gnu", "win_amd64"),
}
ADVICE = "mercer runs without its compiled loops, several times slower, until they are built."
NO_COMPILER = "no C compiler was found (gcc, clang or the package ziglang)"


class BuildError(RuntimeError):
    """The library could not be compiled; the message says why in one sentence."""


def system_compiler():
    """The command of the C compiler that this machine has: ``$CC``, cc, gcc or clang; None where there is none."""
    for name in (os.environ.get("CC", "").split(), ["cc"], ["gcc"], ["clang"]):
        if name and shutil.which(name[0]):
            return name
    return None


def zig_compiler():
    """The command of the C compiler in the package ziglang; None where it is not installed."""
    return [sys.executable, "-m", "ziglang", "cc"] if importlib.util.find_spec("ziglang") else None


def library_name(target=None):
    """The file name of the library: for this machine, or for a target."""
    system = target.split("-")[1] if target else {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    return {"windows": "mercer.dll", "macos": "libmercer.dylib"}.get(system, "libmercer.so")


def variants(target=None):
    """{suffix of the symbols: flags of the compiler}: three for x86-64, one elsewhere."""
    machine = target.split("-")[0] if target else platform.machine().lower()
    return LEVELS if machine in ("x86_64", "amd64") else {"_base": []}


def sources():
    """The C files, in alphabetical order."""
    return sorted(HERE.glob("*.c"))


def fingerprint():
    """A hash of all that decides what is compiled: files, flags, processor, compiler's name."""
    parts = [path.read_bytes() for path in [*sources(), *sorted(HERE.glob("*.h")), Path(__file__)]]
    parts.append(repr((system_compiler(), platform.machine(), sys.platform)).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def compile_library(folder, target=None, flags=()):
    """Compile the library into a folder and return its path; the file appears whole or not at all.

    With a ``target`` of `TARGETS` zig compiles for that machine; else the system's compiler, or zig without one.
    Further ``flags`` are given to the compiler and to the linker (a sanitizer, for example).
    """
    command = zig_compiler() if target else system_compiler() or zig_compiler()
    if command is None:
        raise BuildError(f"the package ziglang is missing for {target}" if target else NO_COMPILER)
    zig = "ziglang" in command
    command = [*command, *(["-target", TARGETS[target][0]] if target else [])]
    with tempfile.TemporaryDirectory() as work:

        def compile_file(suffix, level, source):
            if zig:  # it spells processors with underscores
                level = [flag.replace("x86-64", "x86_64") for flag in level]
            made = str(Path(work) / f"{source.stem}{suffix}.o")
            _run([*command, *FLAGS, *level, *flags, f"-DVARIANT={suffix}", "-c", str(source), "-o", made], work)
            return made

        parts = [(suffix, level, source) for suffix, level in variants(target).items() for source in sources()]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda part: compile_file(*part), parts))
        made = Path(work) / library_name(target)
        mathematics = [] if made.suffix == ".dll" else ["-lm"]
        _run([*command, "-shared", *flags, "-o", str(made), *objects, *mathematics], work)
        final = Path(folder) / made.name
        partial = final.with_name(f"{final.name}.{os.getpid()}")  # two processes may build at the same time
        try:
            shutil.copyfile(made, partial)
            os.replace(partial, final)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise BuildError(f"{final} cannot be written ({error.strerror})") from error
    return final


def _run(command, folder):
    """Run a compiler in a folder; its first error line becomes ours."""
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": f"{folder}/zig", "ZIG_LOCAL_CACHE_DIR": f"{folder}/zig"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    except OSError as error:
        raise BuildError(f"{command[0]} does not start ({error.strerror})") from error
    if done.returncode:
        lines = done.stderr.splitlines() or ["it gave no reason"]
        first = next((line for line in lines if "error:" in line), lines[0])
        raise BuildError(f"{' '.join(command[:3])} failed: {first.strip()}")


def build_here():
    """Compile beside the sources unless the library there is of these sources; returns whether there is a library.

    Where that fails a library of other sources goes: what it expects of its callers may be another thing.
    """
    library, stamp = HERE / library_name(), HERE / "libmercer.stamp"
    wanted = fingerprint()
    if library.exists() and stamp.exists() and stamp.read_text() == wanted:
        return True
    if not sources():
        return False
    try:
        if system_compiler() or zig_compiler():
            print(f"mercer: compiling {len(sources())} C files ...", file=sys.stderr)
        compile_library(HERE)
        stamp.write_text(wanted)
        return True
    except (BuildError, OSError) as error:
        print(f"mercer: {error}; {ADVICE}", file=sys.stderr)
        with contextlib.suppress(OSError):
            library.unlink(missing_ok=True)
        return library.exists()


def main():
    """Compile for this machine, or for another one."""
    parser = argparse.ArgumentParser(description="Compile mercer's loops.")
    parser.add_argument("--target", choices=TARGETS, help="another machine, with zig")
    parser.add_argument("--to", type=Path, help="the folder of the library; default: beside the sources")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for compiler and linker")
    parser.add_argument("--list", action="store_true", help="print the names of the other machines")
    given = parser.parse_args()
    if given.list:
        print(*TARGETS)
        return
    if not (given.target or given.to or given.flag):
        build_here()  # without a compiler there is a sentence, and NumPy does the work
        return
    try:
        print(compile_library(given.to or HERE, given.target, given.flag))
    except BuildError as error:
        sys.exit(f"mercer: {error}.")


if __name__ == "__main__":
    main()
