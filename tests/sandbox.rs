//! smoke
use hermes_tui::backend::local::{LocalBackend, LocalConfig};
use hermes_tui::backend::*;
use hermes_tui::domain::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn smoke() {
    let dir = tempfile::tempdir().unwrap();
    let config = LocalConfig::new(env!("CARGO_BIN_EXE_hermes-tui"), dir.path().join("data"), dir.path().join("run"));
    let b = LocalBackend::new(config);
    println!("{:?}", b.probe().await);
    let spec = ProvisionSpec {
        env: EnvId::new("e1"),
        name: "e one".into(),
        generation: Generation(1),
        spec: EnvSpec::local(),
        home: dir.path().join("data/envs/e1/home"),
        workspace: dir.path().join("data/envs/e1/workspace"),
    };
    let t = std::time::Instant::now();
    let info = b.provision(spec, Box::new(|_| {})).await.unwrap();
    println!("{:?} {info:?}", t.elapsed());
    let id = info.found.sandbox.clone();
    let mut link = b.exec(id.clone(), ExecSpec { call: CallId::new("c"), argv: vec!["sh".into(), "-c".into(), "id; ls -la / /dev /proc/1/ ~; ps aux; cat /proc/self/status | grep -E 'Cap|NoNew|Secc'; mount; ls -la /etc; ulimit -a; ip a; cat /proc/self/cgroup".into()], env: vec![], cwd: None }).await.unwrap();
    let mut out = String::new();
    link.stdout.read_to_string(&mut out).await.unwrap();
    link.stderr.read_to_string(&mut out).await.unwrap();
    println!("{out}\ncode {}", link.exit.await);
    let mut pty = b
        .attach(
            id.clone(),
            AttachSpec {
                session: SessionId::new("s"),
                program: vec![],
                env: vec![],
                cwd: None,
                size: Size { rows: 11, cols: 77 },
            },
        )
        .await
        .unwrap();
    pty.writer.write_all(b"stty size; exit 7\n").await.unwrap();
    let mut out = Vec::new();
    pty.reader.read_to_end(&mut out).await.unwrap();
    println!("{}", String::from_utf8_lossy(&out));
    println!("exit {:?}", pty.exit.await);
    println!("{:?}", b.evidence(id.clone()).await);
    let t = std::time::Instant::now();
    b.stop(id.clone()).await.unwrap();
    println!("stop {:?} {:?}", t.elapsed(), b.list().await);
    b.remove(id.clone()).await.unwrap();
}
