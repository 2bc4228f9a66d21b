"""Runs the program of this wheel."""

import os
import subprocess
import sys
import sysconfig


def find():
    """Returns the path of the program: in a directory for scripts, or beside the packages (`pip install --target`)."""
    name = "utf8-codec" + (sysconfig.get_config_var("EXE") or "")
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    user = "nt_user" if os.name == "nt" else "posix_user"
    directories = [
        sysconfig.get_path("scripts"),
        os.path.join(above, "bin"),
        sysconfig.get_path("scripts", scheme=user) if user in sysconfig.get_scheme_names() else None,
    ]
    for directory in directories:
        path = os.path.join(directory or "", name)
        if directory and os.path.isfile(path):
            return path
    sys.exit("utf8-codec is not installed in " + ", ".join(filter(None, directories)))


if __name__ == "__main__":
    command = [find(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
