"""A fork whose child is alone: its own process table, its own working folder, no privileges.

Only what the standard library lacks, as direct calls into libc.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x8000000, 1 << 28, 1 << 29
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 8, 32, 4096
_CAPABILITY_VERSION = 0x20080522
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4

_libc = ctypes.CDLL(None, use_errno=True)


def fork_alone() -> int:
    """Fork into new user, process, mount and IPC namespaces; the child is process 1 of its own.

    With process 1 dies everything that it started. Like `os.fork`, it returns twice; the caller
    must have one thread only.
    """
    flags = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWUSER | _CLONE_NEWPID | signal.SIGCHLD
    pid = _libc.syscall(_SYS_CLONE[platform.machine()], flags, 0, 0, 0, 0)
    if pid < 0:
        raise _error("clone")
    return pid


def enter_private_folder(path: str, size_bytes: int, uid: int, gid: int) -> None:
    """Become (uid, gid) again in the new user namespace and put an empty file system at `path`.

    It lives in memory, holds at most `size_bytes` and goes with the process. /proc becomes
    read-only: settings of the whole machine are in there, and the host's root may write to them.
    """
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    options = f"size={size_bytes},mode=0700,nr_inodes=4096"
    flags = _MS_NOSUID | _MS_NODEV
    if _libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()):
        raise _error(f"mount at {path}")
    flags |= _MS_NOEXEC | _MS_REMOUNT | _MS_BIND | _MS_RDONLY
    if _libc.mount(None, b"/proc", None, flags, None):
        raise _error("remount of /proc")


def make_host_read_only(folder: str) -> None:
    """Make every mounted file system read-only, with an empty one over `folder`, a new /proc.

    For a mount and process namespace of one's own, as `unshare` makes it.
    """
    attributes = struct.pack("=QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    if _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes)
    ):
        raise _error("mount_setattr")
    for kind, where in ((b"proc", b"/proc"), (b"tmpfs", folder.encode())):
        if _libc.mount(kind, where, kind, _MS_NOSUID | _MS_NODEV, None):
            raise _error(f"mount at {where.decode()}")


def drop_privileges() -> None:
    """Give up all capabilities."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if _libc.capset(header, bytes(24)):
        raise _error("capset")


def hide_memory() -> None:
    """Keep this process's memory from others of the same user."""
    if _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise _error("prctl")


def die_with_parent() -> None:
    """Be killed when the parent ends."""
    if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise _error("prctl")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
