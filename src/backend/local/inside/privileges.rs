//! Giving up every capability for good.

use std::io;

const LINUX_CAPABILITY_VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Set {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Empties the bounding, ambient, inheritable, permitted and effective sets, and forbids new privileges
/// (capabilities(7), `PR_SET_NO_NEW_PRIVS`). Programs started later inherit all of it.
pub fn drop_all() -> io::Result<()> {
    // SAFETY: prctl and capset with constants and with structures of the documented layout; they change this
    // process only.
    unsafe {
        for capability in 0..64 {
            // The first number that the kernel does not know ends the list.
            if libc::prctl(libc::PR_CAPBSET_READ, capability, 0, 0, 0) < 0 {
                break;
            }
            check(libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0).into())?;
        }
        check(libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0).into())?;
        let header = Header { version: LINUX_CAPABILITY_VERSION_3, pid: 0 };
        let none = [Set::default(); 2];
        check(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())
    }
}

/// Makes this process opaque to others of the same user inside: no ptrace, no look into its descriptors or memory.
pub fn make_opaque() -> io::Result<()> {
    // SAFETY: changes a flag of this process only.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) }.into())
}

/// Makes this process the parent of what its children leave behind.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: changes a flag of this process only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }.into())
}

/// Ends this process when its parent ends. The caller checks afterwards that the parent is still there.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: changes a flag of this process only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }.into())
}

/// An own session keyring, so that keys of the host's login session are out of reach (keyrings(7)).
pub fn leave_keyring() {
    // SAFETY: a system call with constants; it may be missing, then there are no keys either.
    unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
}
