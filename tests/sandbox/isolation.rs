//! What programs inside can see and do.

use super::host::{Host, lives, mount};
use super::inside::{attempt, show};
use hermes_tui::backend::Backend;
use hermes_tui::domain::Network;
use std::collections::BTreeSet;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

pub async fn only_its_own_processes_are_seen(host: &Host) {
    let sandbox = host.made("e1").await;
    let script = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done";
    let output = host.sh(&sandbox, script).await;
    for line in output.stdout.lines().filter(|line| !line.is_empty()) {
        let ours = line.starts_with("hermes-tui __sandbox ") || line.starts_with("sh -c ") || line.starts_with("tr ");
        assert!(ours, "{line:?} is seen inside");
    }
    let first = host.run(&sandbox, &["cat", "/proc/1/cmdline"]).await.stdout;
    assert_eq!(first, format!("hermes-tui\0__sandbox\0{sandbox}\0"), "no path of the host");
    let seen = host.sh(&sandbox, "ls /proc | grep -c '^[0-9]'").await.stdout;
    assert!(seen.trim().parse::<u32>().expect("a number") <= 4, "{seen}");
}

pub async fn nothing_but_home_workspace_and_tmp_can_be_written(host: &Host) {
    let sandbox = host.made("e1").await;
    for place in ["$HOME", "/workspace", "/tmp"] {
        let output = host.sh(&sandbox, &format!("echo x > {place}/written && cat {place}/written")).await;
        assert_eq!((output.code, output.stdout.as_str()), (0, "x\n"), "{place}: {output:?}");
    }
    let wanted = host.wanted("e1", 1);
    assert!(wanted.home.join("written").exists() && wanted.workspace.join("written").exists());
    assert!(!std::path::Path::new("/tmp/written").exists(), "its /tmp is its own");

    let script = "for d in / /bin /sbin /lib /usr /usr/bin /usr/local /etc /etc/ssl /home /root /run /var /mnt /dev \
                  /proc /proc/sys /proc/sys/kernel /opt /srv /sys /boot; do \
                  (echo x > $d/written) 2>/dev/null && echo wrote $d; (mkdir $d/made) 2>/dev/null && echo made $d; \
                  done; for f in /etc/passwd /etc/profile /usr/bin/env /proc/sys/kernel/core_pattern \
                  /proc/sys/kernel/hostname /proc/sys/vm/overcommit_memory /proc/sys/net/ipv4/ip_forward \
                  /proc/sysrq-trigger /proc/1/oom_score_adj /proc/1/mem; do \
                  (cat $f > /tmp/copy || echo 1 > /tmp/copy; cat /tmp/copy > $f) 2>/dev/null && echo changed $f; \
                  done; true";
    let output = host.sh(&sandbox, script).await;
    // Covered by the null device: takes everything and does nothing.
    let harmless = ["changed /proc/sysrq-trigger"];
    let wrote: Vec<_> = output.stdout.lines().filter(|line| !harmless.contains(line)).collect();
    assert_eq!(wrote, Vec::<&str>::new(), "{output:?}");

    let modes = "for f in /dev/null /dev/zero /dev/tty /dev/urandom /usr /proc/kallsyms /proc/sys; do chmod 0600 $f && \
                 echo changed $f; done 2>/dev/null; echo sink > /dev/null && head -c 3 /dev/zero | wc -c";
    assert_eq!(host.sh(&sandbox, modes).await.stdout, "3\n", "devices work, and their modes stay");

    // Every file system that may be written, from the kernel itself.
    let mounts = host.run(&sandbox, &["cat", "/proc/self/mounts"]).await.stdout;
    let writable: BTreeSet<&str> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (_, place, _, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
            options.split(',').any(|one| one == "rw").then_some(place)
        })
        .collect();
    let expected = ["/dev/pts", "/dev/shm", "/home/agent", "/proc", "/tmp", "/workspace"];
    assert_eq!(writable, BTreeSet::from(expected));
}

pub async fn a_process_of_the_host_can_neither_be_seen_nor_signalled(host: &Host) {
    let mut victim = std::process::Command::new("sleep").arg("1000").spawn().expect("a process");
    let pid = victim.id() as i32;
    let sandbox = host.made_as("e1", show).await;
    let attempts = [format!("kill:{pid}"), format!("kill:{}", std::process::id()), format!("list:/proc/{pid}")];
    let came = attempt(host, &sandbox, &attempts).await;
    assert_eq!(came[&attempts[0]], "ESRCH");
    assert_eq!(came[&attempts[1]], "ESRCH");
    assert_eq!(came[&attempts[2]], "ENOENT");
    // Everything that it may signal: itself, and not even its first process.
    host.sh(&sandbox, "kill -9 -1; kill -TERM 1; kill -KILL 1").await;
    assert!(lives(pid), "the host's process lives");
    assert_eq!(host.sh(&sandbox, "echo fine").await.stdout, "fine\n", "and so does the sandbox");
    victim.kill().expect("ours");
    victim.wait().expect("ours");
}

pub async fn programs_have_no_privileges_and_gain_none(host: &Host) {
    let sandbox = host.made_as("e1", show).await;
    let command = host.run(&sandbox, &["cat", "/proc/self/status"]).await.stdout;
    let mut link = host.session(&sandbox, "s", &["cat", "/proc/self/status"]).await;
    let terminal = super::host::read_until(&mut link, "nonvoluntary_ctxt_switches").await;
    let first = host.run(&sandbox, &["cat", "/proc/1/status"]).await.stdout;
    for status in [command, terminal, first] {
        let value = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_owned()
        };
        assert_eq!(value("NoNewPrivs:"), "1");
        assert_eq!(value("Seccomp:"), "2");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(value(set), "0000000000000000", "{set}");
        }
        assert_eq!(value("Uid:"), "1000");
    }
    assert_eq!(host.run(&sandbox, &["id", "-un"]).await.stdout, "agent\n");
    let came = attempt(host, &sandbox, &["setuid".into()]).await;
    assert_ne!(came["setuid"], "done");
}

pub async fn forbidden_system_calls_are_refused(host: &Host) {
    let sandbox = host.made_as("e1", show).await;
    let refused = [
        "tiocsti",
        "tiocsti-high",
        "unshare-user",
        "unshare-mount",
        "clone-user",
        "setns",
        "mount",
        "chroot",
        "keyctl",
        "bpf",
        "perf",
        "userfaultfd",
        "vsock",
        "packet",
        "ptrace-first",
    ];
    let unknown = ["clone3", "io_uring"];
    let all: Vec<String> = refused.iter().chain(&unknown).map(|one| (*one).to_owned()).collect();
    let came = attempt(host, &sandbox, &all).await;
    for one in refused {
        assert_eq!(came[one], "EPERM", "{one}");
    }
    for one in unknown {
        assert_eq!(came[one], "ENOSYS", "{one}");
    }
}

pub async fn sockets_of_the_host_cannot_be_reached(host: &Host) {
    // As D-Bus on the session bus, an agent of ssh, and docker have them: by name and by path.
    let name = format!("htui-test-{}", super::host::mark());
    let by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("listens");
    let path = host.folder.path().join("agent.sock");
    let by_path = UnixListener::bind(&path).expect("listens");
    let sandbox = host.made_as("e1", show).await;
    let own = host.config.runtime_dir.join("sandboxes").join(format!("{sandbox}.sock"));
    assert!(own.exists(), "our own socket is there on the host");
    let absent = [
        format!("unix:{}", path.display()),
        format!("unix:{}", own.display()),
        "unix:/var/run/docker.sock".into(),
        "unix:/run/docker.sock".into(),
        "unix:/run/dbus/system_bus_socket".into(),
        "unix:/run/user/0/bus".into(),
        "unix:/run/user/1000/bus".into(),
        "list:/run/user".into(),
    ];
    let mut attempts = absent.to_vec();
    attempts.push(format!("abstract:{name}"));
    let came = attempt(host, &sandbox, &attempts).await;
    for one in &absent {
        assert_eq!(came[one], "ENOENT", "{one}");
    }
    assert_eq!(came[&format!("abstract:{name}")], "ECONNREFUSED");
    drop((by_name, by_path));
}

pub async fn files_of_the_host_and_of_other_environments_cannot_be_reached(host: &Host) {
    let secret = format!("secret-{}", super::host::mark());
    let home = host.folder.path().join("person");
    fs::create_dir_all(home.join(".ssh")).expect("a folder");
    fs::write(home.join(".ssh").join(&secret), "key").expect("a file");
    let other = host.wanted("e2", 1);
    host.made("e2").await;
    fs::write(other.workspace.join(&secret), "theirs").expect("a file");
    fs::write(other.home.join(&secret), "theirs").expect("a file");
    let sandbox = host.made_as("e1", show).await;
    let attempts = [
        format!("list:{}", home.join(".ssh").display()),
        format!("read:{}", other.workspace.join(&secret).display()),
        format!("list:{}", host.config.data_dir.display()),
        format!("list:{}", host.config.runtime_dir.display()),
        "read:/etc/shadow".into(),
        "read:/etc/ssh/ssh_config".into(),
        "read:/etc/ssl/private".into(),
        "list:/root/.ssh".into(),
    ];
    let came = attempt(host, &sandbox, &attempts).await;
    for one in &attempts {
        assert_eq!(came[one], "ENOENT", "{one}");
    }
    let found = host.sh(&sandbox, &format!("find / -name '{secret}' 2>/dev/null; ls /home /root /run /var /mnt")).await;
    assert_eq!(found.stdout, "/home:\nagent\n\n/mnt:\n\n/root:\n\n/run:\n\n/var:\n", "empty but for its own home");
}

pub async fn a_mount_that_holds_our_own_folders_does_not_show_them(host: &Host) {
    let folder = host.folder.path();
    fs::write(folder.join("plain"), "seen").expect("a file");
    let all = folder.display().to_string();
    let sandbox = host.made_as("e1", |spec| mount(spec, &all, "/data", false)).await;
    let output = host.sh(&sandbox, "cat /data/plain; echo; ls -A /data/data /data/run; touch /data/new").await;
    assert_eq!(output.stdout, "seen\n/data/data:\n\n/data/run:\n", "{output:?}");
    assert!(folder.join("new").exists(), "it was asked for writable");

    let mut wanted = host.wanted("e2", 1);
    let source = host.wanted("e1", 1).workspace.display().to_string();
    mount(&mut wanted.spec, &source, "/theirs", true);
    let error = host.backend.provision(wanted, Box::new(|_| {})).await.expect_err("refused");
    assert!(error.message.starts_with(&format!("cannot mount {source}: it is part of hermes-tui's own")), "{error:?}");
}

pub async fn there_is_no_network_unless_asked_for(host: &Host) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let here = format!("tcp:{}", listener.local_addr().expect("an address"));
    let away = "tcp:192.0.2.1:80".to_owned();
    let sandbox = host.made_as("e1", show).await;
    let came = attempt(host, &sandbox, &[here.clone(), away.clone()]).await;
    assert_eq!(came[&here], "ECONNREFUSED", "its loopback is its own, and up");
    assert_eq!(came[&away], "ENETUNREACH");
    let links = host.run(&sandbox, &["cat", "/proc/net/dev"]).await.stdout;
    let links: Vec<_> = links.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert_eq!(links, ["lo"]);

    let open = host
        .made_as("e2", |spec| {
            show(spec);
            spec.network = Network::Host;
        })
        .await;
    let name = format!("htui-test-{}", super::host::mark());
    let abstract_one = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name"));
    let by_name = format!("abstract:{name}");
    let came = attempt(host, &open, &[here.clone(), by_name.clone()]).await;
    assert_eq!(came[&here], "done", "with the host's network it connects");
    let details = host.backend.details(open).await.expect("looks").expect("there");
    let told = details.limits.iter().find(|limit| limit.name == "abstract sockets").expect("it is told");
    let expected = if told.enforced { "EPERM" } else { "done" };
    assert_eq!(came[&by_name], expected, "{told:?}");
    drop(abstract_one);
}

pub async fn nothing_of_the_hosts_environment_leaks(host: &Host) {
    let sandbox = host.made_as("e1", |spec| {
        spec.env.insert("GIVEN".into(), "yes".into());
    });
    let sandbox = sandbox.await;
    let output = host.run(&sandbox, &["env"]).await.stdout;
    let names: BTreeSet<&str> = output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let expected = ["GIVEN", "HOME", "HTUI_SANDBOX", "LANG", "LOGNAME", "PATH", "SHELL", "USER"];
    assert_eq!(names, BTreeSet::from(expected));
    assert_ne!(host.run(&sandbox, &["cat", "/proc/1/environ"]).await.code, 0);
    assert_eq!(host.run(&sandbox, &["hostname"]).await.stdout, "e1\n");
    let open = host.sh(&sandbox, "ls /proc/self/fd").await.stdout;
    assert_eq!(open.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"], "3 is the listing itself");
}

pub async fn processes_are_limited(host: &Host) {
    let mut config = host.config.clone();
    config.max_processes = 40;
    let backend = hermes_tui::backend::local::LocalBackend::new(config);
    let made = backend.provision(host.wanted("e1", 1), Box::new(|_| {})).await.expect("a sandbox");
    let limits = backend.details(made.sandbox.clone()).await.expect("looks").expect("there").limits;
    let in_force = limits
        .iter()
        .any(|limit| limit.name.starts_with("processes") && (limit.value == "40" || limit.value == "40 (cgroup)"));
    if !in_force {
        let told = limits.iter().any(|limit| limit.name == "processes" && !limit.enforced);
        assert!(told, "a limit that is not in force is said to be so: {limits:?}");
        return;
    }
    let script = "i=0; while [ $i -lt 80 ]; do sleep 1000 & i=$((i+1)); done; true";
    host.sh(&made.sandbox, &format!("({script}) >/dev/null 2>&1 </dev/null; true")).await;
    let left = host.evidence(&made.sandbox).await.processes.len();
    assert!((20..=40).contains(&left), "{left} of 80 run");
}
