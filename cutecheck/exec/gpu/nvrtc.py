"""Compile one file with NVRTC: ``nvrtc.py LIBRARY SOURCE CUBIN OPTION...``, run as a script in a child process.

PTX is written beside the cubin. Every constant of CuTe's headers becomes a variable of the cubin, some 5,000 of them,
which profilers take seconds to load: those that no instruction uses are taken out of its symbols.
"""

from __future__ import annotations

import ctypes
import re
import struct
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


def without_unused(cubin: bytes, ptx: bytes) -> bytes:
    """The cubin without the symbols of variables that its PTX declares and does not use.

    Their places stay, empty, so that nothing that counts symbols changes; so does all code. A cubin of another form is
    returned as it is.
    """
    declared = set(re.findall(rb"^\.(?:visible |weak )?global [^\n]*?([\w$.]+)(?:\[\d*\])?(?: = [^\n]*)?;$", ptx, re.M))
    body = re.sub(rb"^\.(?:visible |weak )?global [^\n]*$", _initializer, ptx, flags=re.M)
    unused = declared - set(re.findall(rb"[\w$.]+", body))
    if cubin[:6] != b"\x7fELF\x02\x01" or not unused:
        return cubin
    out = bytearray(cubin)
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count = struct.unpack_from("<HH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + i * size) for i in range(count)]
    gone: set[int] = set()
    for kind, at, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
        if kind != _SYMBOLS:
            continue
        names = sections[link][4]
        for number in range(length // 24):
            name, info = struct.unpack_from("<IB", cubin, at + 24 * number)
            text = cubin[names + name : cubin.index(b"\0", names + name)]
            if info & 15 == _OBJECT and text in unused:
                out[at + 24 * number : at + 24 * (number + 1)] = bytes(24)
                gone.add(number)
    for i, (kind, at, length) in enumerate((s[1], s[4], s[5]) for s in sections):
        if kind != _RELOCATIONS:
            continue
        entries = [cubin[at + 24 * n : at + 24 * (n + 1)] for n in range(length // 24)]
        kept = b"".join(e for e in entries if struct.unpack_from("<I", e, 12)[0] not in gone)
        out[at : at + length] = kept + bytes(length - len(kept))
        struct.pack_into("<Q", out, table + i * size + 32, len(kept))
    return bytes(out)


_SYMBOLS, _RELOCATIONS, _OBJECT = 2, 4, 1


def _initializer(declaration: re.Match[bytes]) -> bytes:
    """What a declaration uses itself: the names in its initializer."""
    return declaration[0].partition(b" = ")[2]


def main(arguments: list[str]) -> int:
    cubin, ptx, log = compile_cubin(Path(arguments[0]), Path(arguments[1]), arguments[3:])
    sys.stderr.write(log)
    if cubin is None:
        return 1
    Path(arguments[2]).write_bytes(without_unused(cubin, ptx))
    Path(arguments[2]).with_suffix(".ptx").write_bytes(ptx)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
