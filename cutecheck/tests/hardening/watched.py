"""Runs cutecheck in this process and says on stderr what it does to the world beyond reading.

Usage: python watched.py CACHE_DIR ARGUMENT...   One ``!`` line an event: programs, sockets, writes outside CACHE_DIR
and the folder that Python was given for bytecode, code whose file is not part of an installation.
"""

import os
import sys

ALLOWED = tuple(os.path.realpath(p) for p in (sys.argv[1], os.devnull, sys.pycache_prefix or os.devnull))
OWN = tuple(os.path.realpath(p) for p in {*sys.path[1:], sys.prefix, sys.base_prefix})  # [0] is this file's folder
PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
           "os.chown", "os.utime", "os.setxattr", "shutil.")  # fmt: skip
_FILES = {"os.rename": (0, 1), "os.link": (0, 1), "os.symlink": (1,)}


def inside(path: object, roots: tuple[str, ...]) -> bool:
    if isinstance(path, int):
        return True  # a file that is open already
    real = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
    return any(real == r or real.startswith(r + os.sep) for r in roots)


def say(event: str, what: object) -> None:
    os.write(2, f"! {event} {what!r}\n".encode("utf-8", "replace"))


def hook(event: str, args: tuple[object, ...]) -> None:
    if event.startswith(PROGRAMS) or (event.startswith("socket.") and event != "socket.gethostname"):
        say(event, args[:2])
    elif event == "open" and args[0] is not None:
        flags = args[2] if isinstance(args[2], int) else 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) and not inside(args[0], ALLOWED):
            say(event, args)
    elif event.startswith(CHANGES):
        for at in _FILES.get(event, (0,)):
            if not inside(args[at], ALLOWED):
                say(event, args)
    elif event == "exec":
        name = getattr(args[0], "co_filename", "?")
        if not name.startswith("<") and not inside(name, OWN):
            say(event, name)
    elif event == "import" and args[1] is not None and not inside(args[1], OWN):
        say(event, args[:2])


from cutecheck.cli import main  # noqa: E402

sys.addaudithook(hook)
sys.argv = ["cutecheck", *sys.argv[2:]]
code = main()
say("exit", code)
