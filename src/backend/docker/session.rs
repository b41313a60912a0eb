//! Sessions on a terminal in a container.

use super::super::{AttachSpec, BackendError, Result};
use super::dial::{Reader, Writer};
use super::engine::Engine;
use super::inside::{self, GO, Leader};
use super::pace::pace;
use super::run::{Exec, Program, Shared, variables};
use crate::domain::{FailureKind, SandboxId, Size};
use crate::pty::{PtyControl, PtyLink};
use bollard::query_parameters::ResizeExecOptionsBuilder;
use futures_util::future::BoxFuture;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{Notify, watch};

/// Output that waits for its reader.
const BUFFER: usize = 64 << 10;
/// After the end of the program, for output that is still on its way.
const DRAIN: Duration = Duration::from_millis(300);
/// A terminal that was just made may refuse its size for a moment.
const RESIZE_TRIES: u32 = 20;
const RESIZE_PAUSE: Duration = Duration::from_millis(25);
/// Podman answers before the terminal has its new size.
const SIZE_TRIES: u32 = 100;
const SIZE_PAUSE: Duration = Duration::from_millis(10);
/// For the script to hear that it may go.
const RELEASE: Duration = Duration::from_secs(15);

/// Opens one.
pub async fn attach(inner: Shared, sandbox: SandboxId, spec: AttachSpec) -> Result<PtyLink> {
    let (engine, seen) = inner.running_any(&sandbox).await?;
    if spec.resume {
        // Its terminal was a stream of the host that ended, and cannot be had again: what is left of it must not stay
        // unseen.
        if let Some(leader) = inner.leader_of(&sandbox, spec.session.as_str()).await? {
            inner.end(&sandbox, &leader, "HUP").await?;
        }
        return Err(BackendError::new(
            FailureKind::Permanent,
            "its host ended, and a shell in a container with it",
            "",
        ));
    }
    if spec.program.iter().any(|word| word.contains('\0')) {
        return Err(BackendError::new(FailureKind::Permanent, "an argument holds a zero byte", "leave it out"));
    }
    let leads = !spec.lead.is_empty() && spec.program.is_empty();
    let script = inside::session(inner.config.shell.as_deref(), leads);
    let mut args = vec![script, "htui".to_owned(), seen.working_dir().to_owned(), spec.cwd.unwrap_or_default()];
    args.extend(spec.program);
    let env = variables(&spec.env, ("HTUI_SESSION", spec.session.as_str()));
    let (mut exec, leader) = loop {
        let interpreter = inner.interpreter(&sandbox);
        let mut args = args.clone();
        if leads {
            args.extend([interpreter.to_owned(), "-c".to_owned()]);
            args.extend(spec.lead.iter().cloned());
        }
        let program = Program { interpreter, args, env: env.clone(), tty: true };
        match begin(&inner, &engine, &sandbox, program).await {
            Err(error) if inner.has_other(&sandbox, interpreter, &error) => {}
            other => break other?,
        }
    };
    // The program is not there yet: it finds the size from its first moment on, also where the engine does not know
    // sizes at the making of an exec (before API 1.42).
    let sized = set_size(&engine, &exec.id, spec.size).await;
    let release = async {
        sized?;
        if engine.podman {
            has_size(&mut exec, spec.size).await?;
        }
        release(&mut exec).await
    };
    let late = |_| Err(io::Error::other("the shell that begins it does not answer"));
    let released = tokio::time::timeout(RELEASE, release).await.unwrap_or_else(late);
    if let Err(error) = released {
        inner.end(&sandbox, &leader, "HUP").await?;
        return Err(BackendError::new(
            FailureKind::Temporary,
            format!("opening a session failed: {error}"),
            "try again; the engine's log says more",
        ));
    }
    let (reader, writer) = exec.stream.into_split();
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (ended, is_over) = watch::channel(None);
    let end_of_stream = Arc::new(Notify::new());
    let (output, answers) = watch::channel(0);
    let input: Box<dyn AsyncWrite + Send + Unpin> = if engine.podman {
        let (typed, passed_on) = tokio::io::duplex(BUFFER);
        tokio::spawn(pace(passed_on, writer, answers));
        Box::new(typed)
    } else {
        Box::new(Input(Some(writer)))
    };
    tokio::spawn(pump(reader, exec.early, ours, (output, end_of_stream.clone()), is_over.clone()));
    let open = Arc::new(Open { inner, engine, sandbox, exec: exec.id, leader, end_of_stream, is_over });
    tokio::spawn(follow(open.clone(), ended));
    let mut over = open.is_over.clone();
    let exit = async move { over.wait_for(Option::is_some).await.ok().and_then(|code| code.flatten()) };
    Ok(PtyLink { reader: Box::new(theirs), writer: input, control: Box::new(Control(open)), exit: Box::pin(exit) })
}

async fn begin(inner: &Shared, engine: &Engine, sandbox: &SandboxId, program: Program) -> Result<(Exec, Leader)> {
    let mut exec = inner.start_exec(engine, sandbox, program).await?;
    let leader = inner.hear_session(engine, &mut exec).await?;
    Ok((exec, leader))
}

/// Waits until the script sees this size, or cannot tell.
async fn has_size(exec: &mut Exec, size: Size) -> io::Result<()> {
    let wanted = format!("{} {}", size.rows, size.cols);
    for _ in 0..SIZE_TRIES {
        exec.stream.write_all(b"\n").await?;
        exec.stream.flush().await?;
        take_through(exec, &[inside::MARK]).await?;
        let said = take_through(exec, &[inside::MARK]).await?;
        let is = said.strip_suffix(&[inside::MARK]).unwrap_or_default().trim_ascii();
        if is.is_empty() || is == wanted.as_bytes() {
            break;
        }
        tokio::time::sleep(SIZE_PAUSE).await;
    }
    Ok(())
}

/// Lets the program begin, and takes away what was not said by it.
async fn release(exec: &mut Exec) -> io::Result<()> {
    exec.stream.write_all(format!("{GO}\n").as_bytes()).await?;
    exec.stream.flush().await?;
    take_through(exec, format!("{GO}\r\n").as_bytes()).await?;
    Ok(())
}

/// Reads and takes away everything up to the end of `wanted`.
async fn take_through(exec: &mut Exec, wanted: &[u8]) -> io::Result<Vec<u8>> {
    loop {
        if let Some(at) = exec.early.windows(wanted.len()).position(|part| part == wanted) {
            return Ok(exec.early.drain(..at + wanted.len()).collect());
        }
        if exec.stream.read_buf(&mut exec.early).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn set_size(engine: &Engine, exec: &str, size: Size) -> io::Result<()> {
    let options = || ResizeExecOptionsBuilder::default().h(size.rows.into()).w(size.cols.into()).build();
    let mut tries = 0;
    while let Err(error) = engine.docker.resize_exec(exec, options()).await {
        tries += 1;
        if tries == RESIZE_TRIES {
            return Err(io::Error::other(format!("its terminal cannot be given a size: {error}")));
        }
        tokio::time::sleep(RESIZE_PAUSE).await;
    }
    Ok(())
}

/// A session that was opened.
struct Open {
    inner: Shared,
    engine: Arc<Engine>,
    sandbox: SandboxId,
    exec: String,
    leader: Leader,
    end_of_stream: Arc<Notify>,
    /// `Some` once it is over, with its exit code if that is known.
    is_over: watch::Receiver<Option<Option<i32>>>,
}

/// Output from the engine to the reader, until the stream or the session ends.
async fn pump(
    mut reader: Reader,
    early: Vec<u8>,
    mut to: DuplexStream,
    (output, end_of_stream): (watch::Sender<usize>, Arc<Notify>),
    mut is_over: watch::Receiver<Option<Option<i32>>>,
) {
    let copy = async {
        if to.write_all(&early).await.is_ok() {
            let mut buffer = vec![0; BUFFER];
            while let Ok(n) = reader.read(&mut buffer).await {
                output.send_modify(|seen| *seen = seen.wrapping_add(n));
                if n == 0 || to.write_all(&buffer[..n]).await.is_err() {
                    break;
                }
            }
        }
        end_of_stream.notify_one();
    };
    let over = async {
        // What escaped from the session may hold its terminal for ever.
        let _ = is_over.wait_for(Option::is_some).await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = copy => {}
        () = over => {}
    }
}

/// Waits for the end of a session's program, and ends what it left behind in its session.
async fn follow(open: Arc<Open>, ended: watch::Sender<Option<Option<i32>>>) {
    let Open { inner, engine, sandbox, exec, leader, end_of_stream, .. } = &*open;
    inner.ended(engine, sandbox, exec, end_of_stream).await;
    let code = inner.exit_code(engine, exec).await;
    if let Err(error) = inner.end(sandbox, leader, "HUP").await {
        tracing::warn!("what session {exec} left behind may live on: {error}");
    }
    let _ = ended.send(Some(code));
}

struct Control(Arc<Open>);

impl PtyControl for Control {
    fn resize(&self, size: Size) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            if self.0.is_over.borrow().is_some() {
                return Ok(());
            }
            set_size(&self.0.engine, &self.0.exec, size).await
        })
    }

    fn close(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let mut over = self.0.is_over.clone();
            if over.borrow().is_some() {
                return Ok(());
            }
            self.0.inner.end(&self.0.sandbox, &self.0.leader, "HUP").await.map_err(io::Error::other)?;
            self.0.end_of_stream.notify_one();
            let _ = over.wait_for(Option::is_some).await;
            Ok(())
        })
    }
}

/// The writer. Dropping it sends nothing: closing only this direction would be an end of input.
struct Input(Option<Writer>);

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(half) = self.0.take() {
            half.forget();
        }
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Some(half) => Pin::new(half).poll_write(cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Some(half) => Pin::new(half).poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
