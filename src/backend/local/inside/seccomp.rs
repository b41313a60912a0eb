//! System calls that no program inside may make.
//!
//! A list of what is refused, not of what is allowed: the sandbox runs any developer's tools. It takes away what
//! reaches around namespaces or widens the kernel's surface. `ptrace` stays, because debuggers need it and it
//! reaches no further than the pid namespace.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Pushes bytes into a terminal's input as if typed (`TIOCSTI`, and `TIOCLINUX` for the console's selection).
const TERMINAL_INJECTION: [u64; 2] = [0x5412, 0x541C];

/// Refused with EPERM whatever the arguments.
const REFUSED: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_userfaultfd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_vhangup,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
];

/// Refused as if the kernel had never heard of them, so that programs use their older way: `clone3` hides its
/// flags behind a pointer, `io_uring` makes calls that no filter sees.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

fn equals(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(mask),
        value,
    )?])
}

fn filter(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, seccompiler::BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?.try_into()
}

/// Installs the filters for this process and all that it starts.
///
/// # Errors
/// One sentence.
pub fn install() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let programs = build(arch).map_err(|error| error.to_string())?;
    for program in &programs {
        seccompiler::apply_filter(program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn build(arch: TargetArch) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut refused: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm] {
        refused.insert(call, Vec::new());
    }
    let low = u64::from(u32::MAX);
    let injection = TERMINAL_INJECTION.iter().map(|request| equals(1, low, *request)).collect::<Result<_, _>>()?;
    refused.insert(libc::SYS_ioctl, injection);
    let new_user = libc::CLONE_NEWUSER as u64;
    refused.insert(libc::SYS_unshare, vec![equals(0, new_user, new_user)?]);
    refused.insert(libc::SYS_clone, vec![equals(0, new_user, new_user)?]);
    // A virtual machine's socket to its host is not part of any network namespace.
    refused.insert(libc::SYS_socket, vec![equals(0, low, libc::AF_VSOCK as u64)?]);
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let mut programs = vec![filter(refused, libc::EPERM, arch)?, filter(unknown, libc::ENOSYS, arch)?];
    if arch == TargetArch::x86_64 {
        programs.push(no_x32());
    }
    Ok(programs)
}

/// The x32 calls share the architecture of x86-64 but carry bit 30, so the lists above would not match them.
fn no_x32() -> BpfProgram {
    use seccompiler::sock_filter;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(0x20, 0, 0, 0),           // load the number of the call
        step(0x35, 0, 1, 0x4000_0000), // at least bit 30?
        step(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_fit_what_the_kernel_takes() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64] {
            for program in build(arch).expect("builds") {
                assert!(!program.is_empty() && program.len() < 4096);
            }
        }
    }
}
