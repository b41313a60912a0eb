//! Abstract Unix sockets of the host, which a shared network namespace would bring into reach.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `struct landlock_ruleset_attr` as of ABI 6 (landlock(7)).
#[repr(C)]
struct Ruleset {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET`: only sockets made by programs under the same rule are connected to.
const ABSTRACT_UNIX_SOCKET: u64 = 1;

/// For this process and all that it starts. New privileges must be forbidden already.
///
/// # Errors
/// The kernel does not know the rule, or Landlock is off.
pub fn shut_off_abstract_sockets() -> io::Result<()> {
    let rules = Ruleset { handled_access_fs: 0, handled_access_net: 0, scoped: ABSTRACT_UNIX_SOCKET };
    // SAFETY: the structure outlives the call, which reads `size_of` bytes of it.
    let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of::<Ruleset>(), 0u32) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // SAFETY: a system call with a descriptor that we own.
    if unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd.as_raw_fd(), 0u32) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
