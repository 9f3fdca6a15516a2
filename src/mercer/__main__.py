"""``python -m mercer demo``: the main job on bundled data."""

import argparse
import sys


def main(arguments=None):
    """Run the command named on the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m mercer", description="Kernel regression.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="fit car stopping distances, print the fit and draw it")
    demo.add_argument("--output", default="mercer_demo.png", help="file of the picture (default: %(default)s)")
    demo.add_argument("--text", action="store_true", help="draw with letters, also where matplotlib is installed")
    options = parser.parse_args(arguments)

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Greek letters still gets the numbers

    from mercer.demo import run

    run(output=None if options.text else options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
