//! What `/etc` holds inside: a list of harmless files and folders, and a user list of its own.
//!
//! Only what everybody may read on the host is shown, since for root the sandbox's files are read as root's.

use super::super::protocol::Launch;
use super::super::shell;
use super::root::Plan;
use super::{INSIDE_HOME, INSIDE_ID, INSIDE_USER};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Copied (or linked again, if they are links into `/usr`).
const FILES: &[&str] = &[
    "alpine-release",
    "arch-release",
    "bash.bashrc",
    "bashrc",
    "bindresvport.blacklist",
    "ca-certificates.conf",
    "csh.cshrc",
    "debian_version",
    "fedora-release",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "manpath.config",
    "mime.types",
    "nanorc",
    "os-release",
    "profile",
    "protocols",
    "redhat-release",
    "rpc",
    "services",
    "shells",
    "ssl/openssl.cnf",
    "system-release",
    "timezone",
    "vimrc",
    "zshenv",
];

/// Shown as they are, read-only.
const FOLDERS: &[&str] = &[
    "alternatives",
    "bash_completion.d",
    "ca-certificates",
    "crypto-policies",
    "fonts",
    "java",
    "ld.so.conf.d",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile.d",
    "python3",
    "ssl/certs",
    "terminfo",
    "vim",
    "zsh",
];

/// Larger files are no configuration.
const LARGEST: u64 = 4 << 20;

fn public(path: &Path, bit: u32) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bit == bit)
}

/// Adds `/etc` to what the private root will hold.
pub fn plan(launch: &Launch, plan: &mut Plan) {
    let etc = Path::new("/etc");
    for name in FILES {
        let path = etc.join(name);
        let Ok(real) = fs::canonicalize(&path) else { continue };
        let Ok(found) = fs::metadata(&real) else { continue };
        if real.starts_with("/usr") && real != path {
            plan.link(&path, &real);
        } else if found.is_file()
            && found.len() <= LARGEST
            && public(&real, 0o004)
            && let Ok(text) = fs::read(&real)
        {
            plan.file(&path, text);
        }
    }
    for name in FOLDERS {
        show_folder(plan, &etc.join(name));
    }
    // Versioned names, as Debian has them.
    for entry in fs::read_dir(etc).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("python3.") || name.starts_with("java-")) {
            show_folder(plan, &etc.join(name));
        }
    }
    let host = host_name(&launch.name);
    plan.file(&etc.join("hostname"), format!("{host}\n").into());
    plan.file(&etc.join("hosts"), format!("127.0.0.1 localhost {host}\n::1 localhost\n").into());
    plan.file(&etc.join("nsswitch.conf"), "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n".into());
    // The programs inside are those of the host, so what is found here is found there.
    let shell = shell::find(launch.shell.as_deref(), super::programs::PATH).unwrap_or_else(|_| "/bin/sh".into());
    let users = format!(
        "root:x:0:0:root:/:/usr/sbin/nologin\n{INSIDE_USER}:x:{INSIDE_ID}:{INSIDE_ID}::{INSIDE_HOME}:{shell}\n\
         nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
    );
    plan.file(&etc.join("passwd"), users.into());
    let groups = format!("root:x:0:\ntty:x:5:\n{INSIDE_USER}:x:{INSIDE_ID}:\nnogroup:x:65534:\n");
    plan.file(&etc.join("group"), groups.into());
    if launch.host_network
        && let Ok(text) = fs::read("/etc/resolv.conf")
    {
        plan.file(&etc.join("resolv.conf"), text);
    }
}

fn show_folder(plan: &mut Plan, path: &Path) {
    let Ok(real) = fs::canonicalize(path) else { return };
    if real.starts_with("/usr") && real != path {
        plan.link(path, &real);
    } else if real.is_dir() && public(&real, 0o005) {
        plan.show(real, PathBuf::from(path));
    }
}

/// A host name made from the environment's name (hostname(7): letters, digits, hyphens, at most 63).
pub fn host_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(63).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "sandbox".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn any_name_becomes_a_valid_host_name() {
        assert_eq!(host_name("Fix login!"), "fix-login");
        assert_eq!(host_name("äöü"), "sandbox");
        assert_eq!(host_name(&"x".repeat(100)).len(), 63);
    }
}
