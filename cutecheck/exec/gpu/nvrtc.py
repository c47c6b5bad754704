"""Compile one file with NVRTC: ``nvrtc.py LIBRARY SOURCE CUBIN OPTION...``, run as a script in a child process.

PTX is written beside the cubin.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path


def compile_cubin(library: Path, source: Path, options: list[str]) -> tuple[bytes | None, bytes, str]:
    """The cubin (None when it does not compile), PTX and the compiler's log; OSError when there is no such library."""
    for builtins in sorted(library.parent.glob("libnvrtc-builtins.so*")):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)  # NVRTC looks for it by name
    nvrtc = ctypes.CDLL(str(library))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = source.read_bytes()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None):
        return None, b"", "error: nvrtcCreateProgram failed"
    given = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), given)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(max(1, size.value))
    nvrtc.nvrtcGetProgramLog(program, log)
    if status:
        return None, b"", log.value.decode(errors="replace") or f"error: NVRTC status {status}"
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(max(1, size.value))
    nvrtc.nvrtcGetPTX(program, ptx)
    return image.raw, ptx.value, log.value.decode(errors="replace")


def main(arguments: list[str]) -> int:
    cubin, ptx, log = compile_cubin(Path(arguments[0]), Path(arguments[1]), arguments[3:])
    sys.stderr.write(log)
    if cubin is None:
        return 1
    Path(arguments[2]).write_bytes(cubin)
    Path(arguments[2]).with_suffix(".ptx").write_bytes(ptx)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
