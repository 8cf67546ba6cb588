"""Runs the binary: python -m cantle serve --memory"""

import os
import subprocess
import sys

from . import StartError, binary


def main() -> None:
    try:
        command = [binary(), *sys.argv[1:]]
    except StartError as e:
        sys.exit(f"cantle: {e}")
    if sys.platform == "win32":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
