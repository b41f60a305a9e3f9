"""The system calls that a program may not make, as a filter that the kernel keeps for us.

Namespaces are the wall; this is what they do not stop (a fork bomb of a host's root, which no
process limit counts; memory that no limit counts) and a second lock on the rest. Where there are no
namespaces it is the only lock. A refused call fails with an error, which Python reports.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator

_NUMBERS = {
    "x86_64": {
        "fork": 57, "vfork": 58, "clone": 56, "clone3": 435, "socket": 41,
        "kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
        "pidfd_open": 434, "pidfd_send_signal": 424, "pidfd_getfd": 438,
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272,
        "setns": 308, "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsmount": 432,
        "mount_setattr": 442, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "setpriority": 141,
        "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142,
        "sched_setattr": 314, "ioprio_set": 251, "prlimit64": 302, "fcntl": 72, "ioctl": 16,
        "shmget": 29, "memfd_create": 319, "memfd_secret": 447,
    },
    "aarch64": {
        "clone": 220, "clone3": 435, "socket": 198,
        "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
        "pidfd_open": 434, "pidfd_send_signal": 424, "pidfd_getfd": 438,
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97,
        "setns": 268, "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsmount": 432,
        "mount_setattr": 442, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "setpriority": 140,
        "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118,
        "sched_setattr": 274, "ioprio_set": 30, "prlimit64": 261, "fcntl": 25, "ioctl": 29,
        "shmget": 194, "memfd_create": 279, "memfd_secret": 447,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_THREAD = 0x10000
_FORBIDDEN_ARGUMENTS = {
    # Signals by way of file owners reach any process of the same user.
    "fcntl": (1, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": (1, (0x8901, 0x8902, 0x5412)),  # FIOSETOWN, SIOCSPGRP, TIOCSTI
}

_LOAD, _RETURN = 0x20, 0x06
_JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_BITS = 0x15, 0x35, 0x45
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE, _MISSING = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2

_Instruction = tuple[int, int, int, int]
"""(code, jump if true, jump if false, constant) of classic BPF."""


def supported() -> bool:
    """Return whether the numbers of this machine's system calls are known here."""
    return platform.machine() in _NUMBERS


def restrict() -> None:
    """Refuse, from now on and for good, the calls of this module to this process.

    Raises:
        OSError: The kernel does not take the filter.
    """
    program = list(_program(platform.machine()))
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _FILTER, ctypes.c_char_p(header), 0, 0
    ):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _program(machine: str) -> Iterator[_Instruction]:
    """Yield the filter: one block per rule, each with its own return, so that none jumps far."""
    numbers = _NUMBERS[machine]
    yield (_LOAD, 0, 0, _OFFSET_ARCHITECTURE)
    yield (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine])
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _OFFSET_NUMBER)
    if machine == "x86_64":  # the same calls under other numbers
        yield (_JUMP_GREATER_EQUAL, 0, 1, _X32)
        yield (_RETURN, 0, 0, _REFUSE)
    for name, number in numbers.items():
        if name == "clone":  # threads are fine, processes are not
            yield from _look_at(number, 0)
            yield (_JUMP_BITS, 1, 0, _CLONE_THREAD)
            yield (_RETURN, 0, 0, _REFUSE)
        elif name == "prlimit64":  # one's own limits (0) may be read, and only be lowered
            yield from _look_at(number, 0)
            yield (_JUMP_EQUAL, 1, 0, 0)
            yield (_RETURN, 0, 0, _REFUSE)
        elif name in _FORBIDDEN_ARGUMENTS:
            argument, forbidden = _FORBIDDEN_ARGUMENTS[name]
            for value in forbidden:
                yield from _look_at(number, argument)
                yield (_JUMP_EQUAL, 0, 1, value)
                yield (_RETURN, 0, 0, _REFUSE)
                yield (_LOAD, 0, 0, _OFFSET_NUMBER)
            continue
        else:
            # clone3's flags lie in memory, out of a filter's sight: libc falls back to clone.
            yield (_JUMP_EQUAL, 0, 1, number)
            yield (_RETURN, 0, 0, _MISSING if name == "clone3" else _REFUSE)
            continue
        yield (_LOAD, 0, 0, _OFFSET_NUMBER)
    yield (_RETURN, 0, 0, _ALLOW)


def _look_at(number: int, argument: int) -> Iterator[_Instruction]:
    """Yield what loads an argument of one call, and steps over a test of three otherwise."""
    yield (_JUMP_EQUAL, 0, 4, number)
    yield (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * argument)
