"""The build hook: a wheel carries its platform's compiled library, an editable install has it beside the sources."""

import importlib.util
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def _build_script(root):
    """src/mercer/_native/build.py as a module: mercer itself cannot be imported while it is built."""
    spec = importlib.util.spec_from_file_location("build_native", Path(root, "src", "mercer", "_native", "build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _platform_tag():
    """What a wheel for this machine is named after; Python itself may be for two processors, the library is for one."""
    if sys.platform == "darwin":
        return f"macosx_11_0_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _is_to_be_had(package):
    """Whether pip finds the package: offline, or on a rare machine, asking for it would end the whole install.

    True also where pip cannot be asked. ``-I`` leaves the isolated environment of the build, which has no pip.
    """
    command = [sys.executable, "-I", "-m", "pip", "index", "versions", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return True
    return "No matching distribution" not in done.stderr


class CustomBuildHook(BuildHookInterface):
    """Compile the loops for the machine at hand, or for the one that ``MERCER_TARGET`` names (see RELEASING.md).

    ``MERCER_NATIVE=0`` builds a wheel without them, for every platform.
    """

    def _wanted(self):
        return self.target_name == "wheel" and os.environ.get("MERCER_NATIVE") != "0"

    def dependencies(self):
        """Ask for the package ziglang, a whole C compiler, where the system has none or is not the target."""
        if not self._wanted():
            return []
        if os.environ.get("MERCER_TARGET"):
            return ["ziglang>=0.13"]
        missing = not _build_script(self.root).system_compiler()
        return ["ziglang>=0.13"] if missing and _is_to_be_had("ziglang") else []

    def initialize(self, version, build_data):
        """Put the library into the wheel, and the platform into its name."""
        if not self._wanted():
            return
        script, target = _build_script(self.root), os.environ.get("MERCER_TARGET")
        if version == "editable":
            script.build_here()
            return
        self._folder = tempfile.TemporaryDirectory()
        try:
            library = script.compile_library(self._folder.name, target)
        except script.BuildError as error:
            if target:  # a wheel that is named after a platform must hold its library
                raise
            self.app.display_warning(f"mercer: {error}; {script.ADVICE}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{script.TARGETS[target][1] if target else _platform_tag()}"
        build_data["force_include"][str(library)] = f"mercer/_native/{library.name}"
