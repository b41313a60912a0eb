//! Ways to an engine that are no socket of this machine: TLS and ssh, with the real engine at the other end.

use super::common::{Profile, text, wait_for};
use super::endpoints::{backend_at, next};
use super::engine::{self, Image};
use super::mock::{Mock, serve};
use super::own_engine::Dockerd;
use super::world::{World, command, read_until};
use hermes_tui::backend::docker::{Address, Place, Tls};
use hermes_tui::backend::{Backend, BackendEvent};
use hermes_tui::domain::{Origin, Size};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// An authority, and what it vouches for: a server that is 127.0.0.1, and a client.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn make() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let openssl = |args: &str| {
            let output = Command::new("openssl").args(args.split(' ')).current_dir(dir.path()).output();
            let output = output.expect("openssl is here");
            assert!(output.status.success(), "openssl {args}: {}", text(&output));
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(&format!("req -x509 {key} -keyout ca-key.pem -out ca.pem -days 2 -subj /CN=htui-test"));
        std::fs::write(dir.path().join("server.ext"), "subjectAltName=IP:127.0.0.1\n").expect("written");
        std::fs::write(dir.path().join("client.ext"), "extendedKeyUsage=clientAuth\n").expect("written");
        for (name, own_key, certificate) in
            [("server", "server-key.pem", "server.pem"), ("client", "key.pem", "cert.pem")]
        {
            openssl(&format!("req {key} -keyout {own_key} -out {name}.csr -subj /CN={name}"));
            openssl(&format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -out {certificate} -days 2 \
                 -extfile {name}.ext"
            ));
        }
        Self(dir)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn acceptor(&self) -> TlsAcceptor {
        let certificates = |file: &str| {
            let read = CertificateDer::pem_file_iter(self.at(file)).expect("a file");
            read.collect::<Result<Vec<_>, _>>().expect("certificates")
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates("ca.pem"));
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(
                certificates("server.pem"),
                PrivateKeyDer::from_pem_file(self.at("server-key.pem")).expect("a key"),
            );
        TlsAcceptor::from(Arc::new(config.expect("a server")))
    }
}

/// A port that takes encrypted connections.
async fn listen<F>(acceptor: TlsAcceptor, each: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(each(stream));
            }
        }
    });
    port
}

fn place(port: u16, tls: Tls) -> Place {
    Place::new("a test", Ok(Address::Tcp { host: "127.0.0.1".into(), port, tls: Some(tls) }))
}

/// Makes a container at this place, talks with a shell and with a command there, and cleans up.
async fn prove(mut world: World, place: Place) {
    world.cleaner.config.spot.places = vec![place];
    world.backend = engine::backend(&world.cleaner.config);
    let sandbox = world.sandbox().await;
    let mut events = world.backend.watch();
    assert!(matches!(next(&mut events).await, BackendEvent::Snapshot(found)
        if found.iter().any(|one| one.sandbox == sandbox)));
    let mut link = world.open(&sandbox, &[], Size { rows: 7, cols: 33 }).await;
    link.writer.write_all(b"stty size; echo is-$((6*7))\n").await.expect("written");
    link.writer.flush().await.expect("sent");
    let seen = read_until(&mut link, "is-42").await;
    assert!(seen.contains("7 33"), "{seen}");
    link.control.close().await.expect("closed");
    // An end of input arrives, and what was written before it too.
    let mut run = world.backend.exec(sandbox.clone(), command(&["cat"])).await.expect("it runs");
    run.stdin.write_all(b"there and back").await.expect("written");
    drop(run.stdin);
    let mut out = String::new();
    run.stdout.read_to_string(&mut out).await.expect("text");
    assert_eq!((out.as_str(), run.exit.await), ("there and back", 0));
    world.backend.remove(sandbox, Origin::Managed).await.expect("removed");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_behind_tls_is_used_like_any_other() {
    let Some(world) = World::new().await else { return };
    let certificates = Certificates::make();
    let socket = world.cleaner.socket.clone();
    let port = listen(certificates.acceptor(), move |mut stream| {
        let socket = socket.clone();
        async move {
            let mut engine = UnixStream::connect(&socket).await.expect("the engine");
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut engine).await;
        }
    })
    .await;
    prove(world, place(port, Tls::of(certificates.0.path(), true))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_asks_for_certificates_itself_is_used_like_any_other() {
    let certificates = Certificates::make();
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.expect("a port").port();
    let file = |name: &str, file: &str| format!("--{name}={}", certificates.at(file).display());
    let more = vec![
        format!("--host=tcp://127.0.0.1:{port}"),
        "--tlsverify".to_owned(),
        file("tlscacert", "ca.pem"),
        file("tlscert", "server.pem"),
        file("tlskey", "server-key.pem"),
    ];
    let Some(own) = Dockerd::start_with(false, more) else { return };
    let image = Image::usual(&own.socket()).await;
    prove(World::with(own.socket(), image), place(port, Tls::of(certificates.0.path(), true))).await;
    engine::wait(async { drop(own) });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_not_who_it_should_be_is_refused_and_so_are_we_without_a_certificate() {
    let certificates = Certificates::make();
    let port = listen(certificates.acceptor(), |stream| serve(stream, Arc::new(|_: &_| None), Arc::default())).await;
    let data = tempfile::tempdir().expect("a folder");
    let outcome = |tls: Tls| backend_at(data.path(), vec![place(port, tls)]);
    let own = Tls::of(certificates.0.path(), true);
    assert!(outcome(own.clone()).probe().await.is_ok());
    let stranger = Certificates::make();
    let wrong = Tls { ca: Some(stranger.at("ca.pem")), ..own.clone() };
    let error = outcome(wrong.clone()).probe().await.expect_err("another authority");
    assert!(error.message.contains("TLS: invalid peer certificate"), "{error}");
    assert!(outcome(Tls { verify: false, ..wrong }).probe().await.is_ok(), "unless nobody wants to know");
    let error = outcome(Tls { own: None, ..own.clone() }).probe().await.expect_err("no certificate");
    assert!(error.message.contains("127.0.0.1"), "{error}");
    std::fs::write(certificates.at("key.pem"), "no key").expect("written");
    let error = outcome(own).probe().await.expect_err("a broken file");
    assert!(error.message.contains("key.pem holds no key"), "{error}");
}

/// A folder with programs that stand in for those of the machine.
struct Programs(tempfile::TempDir);

impl Programs {
    fn with(name: &str, script: &str) -> Self {
        let programs = Self(tempfile::tempdir().expect("a folder"));
        let file = programs.0.path().join(name);
        std::fs::write(&file, script).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("made a program");
        programs
    }

    fn path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.0.path().display())
    }
}

/// An `ssh` that notes its words and goes no further than this machine.
fn ssh(socket: &Path) -> Programs {
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/words\"\nexec docker -H unix://{} system dial-stdio\n",
        socket.display()
    );
    Programs::with("ssh", &script)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_behind_ssh_is_used_like_any_other() {
    let Some(world) = World::new().await else { return };
    let programs = ssh(&world.cleaner.socket);
    let (path, image) = (programs.path(), world.cleaner.image.name.clone());
    let profile = Profile::with_variables(&[("PATH", &path), ("DOCKER_HOST", "ssh://me@far.example:2222")]);
    let made = profile.json(&["env", "new", "far", "--backend", "docker", "--image", &image]);
    assert_eq!(made["environment"]["endpoint"], "docker");
    profile.wait_for_phase("far", "ready", Duration::from_secs(30));
    let mut child = profile.command(&["exec", "far", "--", "cat"]);
    let mut child =
        child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().expect("runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("an input"), b"there and back").expect("written");
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "there and back"));
    let words = std::fs::read_to_string(programs.0.path().join("words")).expect("noted");
    let wanted = "-o BatchMode=yes -o ConnectTimeout=10 -T -l me -p 2222 -- far.example docker system dial-stdio";
    assert!(words.lines().all(|line| line == wanted), "{words}");
    assert!(profile.run(&["env", "rm", "far", "--yes"]).status.success());
    wait_for("the end of the environment", Duration::from_secs(30), || {
        let list = profile.json(&["env", "list"]);
        (!list["environments"].as_array()?.iter().any(|env| env["name"] == "far")).then_some(())
    });
    drop(profile);
    world.cleaner.end().await;
}

#[test]
fn an_ssh_that_fails_says_why_in_its_own_words() {
    let programs =
        Programs::with("ssh", "#!/bin/sh\necho 'me@far.example: Permission denied (publickey).' >&2\nexit 255\n");
    let profile = Profile::with_variables(&[("PATH", &programs.path()), ("DOCKER_HOST", "ssh://me@far.example")]);
    let endpoint = wait_for("the endpoint to be down", Duration::from_secs(20), || {
        let list = profile.json(&["env", "list"]);
        let all = list["endpoints"].as_array()?.clone();
        all.into_iter().find(|one| one["url"] == "docker" && one["state"] == "unreachable")
    });
    let detail = endpoint["detail"].as_str().expect("a text");
    assert!(detail.contains("ssh: me@far.example: Permission denied (publickey)."), "{detail}");
    let doctor = profile.run(&["--json", "doctor"]);
    let said: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let all = said["checks"].as_array().expect("checks");
    let far = all.iter().find(|check| check["name"] == "docker").expect("the endpoint");
    assert_eq!((&far["state"], &far["named_by"]), (&"failed".into(), &"DOCKER_HOST".into()), "{said}");
    assert_eq!(far["hint"], "`ssh me@far.example docker version` must work without any question");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_a_helper_reach_the_registry_and_nobody_else() {
    let secret = "s3cr3t?>~";
    let helper = format!(
        "#!/bin/sh\nread -r host\n[ \"$1 $host\" = 'get box.example:5000' ] || exit 1\n\
         echo '{{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"{secret}\"}}'\n"
    );
    let programs = Programs::with("docker-credential-htui", &helper);
    let folder = tempfile::tempdir().expect("a folder");
    let mock = Mock::start(&folder.path().join("engine.sock"), super::pulls::registry_wants("me", secret));
    let host = format!("unix://{}", mock.socket.display());
    let config = folder.path().display().to_string();
    std::fs::write(folder.path().join("config.json"), r#"{"credsStore":"htui"}"#).expect("written");
    let path = programs.path();
    let profile = Profile::with_variables(&[("PATH", &path), ("DOCKER_HOST", &host), ("DOCKER_CONFIG", &config)]);
    let new = |name: &str, image: &str| {
        engine::wait(async { profile.run(&["env", "new", name, "--backend", "docker", "--image", image]) })
    };
    new("known", "box.example:5000/tool:1");
    wait_for("the pull", Duration::from_secs(20), || (mock.count("POST /containers/create") > 0).then_some(()));
    new("unknown", "else.example/tool:1");
    let why = wait_for("the refusal", Duration::from_secs(20), || {
        let env = profile.env("unknown");
        (env["phase"] == "failed").then(|| env.to_string())
    });
    assert!(!why.contains(secret) && why.contains("docker-credential-htui"), "{why}");
    let logs = std::fs::read_dir(profile.path().join("state")).into_iter().flatten().flatten();
    for file in logs.filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).expect("a log");
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{}", file.path().display());
    }
    drop(profile);
    mock.end().await;
}
