//! The one place that opens connections to an engine: for the client library, and for raw streams of our own.

use super::address::Address;
use super::tls::Security;
use bollard::errors::Error;
use bollard::{BollardRequest, ClientVersion, Docker};
use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, UnixStream, tcp};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_rustls::client::TlsStream;
use tower_service::Service;

/// Waiting for the head of a response; a stop waits for its grace period meanwhile.
const RESPONSE_SECONDS: u64 = 120;
/// Idle connections that are kept where opening one is slow.
const KEPT: usize = 2;
/// For a connection to a machine elsewhere, encryption included.
const DIAL_WITHIN: Duration = Duration::from_secs(10);
/// What `ssh` says of its failure is cut after so many bytes.
const LONGEST_WORD: u64 = 2 << 10;
/// It is waited for so long.
const WORD_WITHIN: Duration = Duration::from_secs(1);

/// Opens connections to one engine. Cheap to clone.
#[derive(Clone)]
pub struct Dialer {
    address: Arc<Address>,
    security: Option<Security>,
}

impl Dialer {
    /// For an address. Opens nothing yet, but reads the files of its encryption.
    ///
    /// # Errors
    /// These files cannot be used.
    pub fn new(address: &Address) -> Result<Self, String> {
        let security = match address {
            Address::Tcp { host, tls: Some(tls), .. } => Some(Security::new(host, tls)?),
            _ => None,
        };
        Ok(Self { address: Arc::new(address.clone()), security })
    }

    /// A client over connections of this dialer.
    ///
    /// # Errors
    /// Never for an address; the library's signature has one.
    pub fn client(&self, version: &ClientVersion) -> Result<Docker, Error> {
        let mut builder = Client::builder(TokioExecutor::new());
        // A socket of this machine is opened anew for each call: that costs nothing, and none is ever stale.
        builder.pool_max_idle_per_host(if self.is_local() { 0 } else { KEPT });
        let client = builder.build(self.clone());
        let transport = move |mut request: BollardRequest| {
            for name in ["x-registry-auth", "x-registry-config"] {
                if let Some(value) = request.headers_mut().get_mut(name) {
                    // The engine reads base64 for URLs; the library writes the usual one.
                    let text = value.to_str().unwrap_or_default().replace('+', "-").replace('/', "_");
                    if let Ok(mut written) = text.parse() {
                        std::mem::swap(value, &mut written);
                        value.set_sensitive(true);
                    }
                }
            }
            let sent = client.request(request);
            async move { sent.await.map_err(|error| Error::IOError { err: plainly(&error) }) }
        };
        Docker::connect_with_custom_transport(transport, Some("http://docker"), RESPONSE_SECONDS, version)
    }

    fn is_local(&self) -> bool {
        matches!(*self.address, Address::Unix(_))
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// Nobody answers there, or it is not who it should be.
    pub async fn dial(&self) -> io::Result<Stream> {
        let work = async {
            match &*self.address {
                Address::Unix(path) => UnixStream::connect(path).await.map(Stream::unix),
                Address::Tcp { host, port, .. } => {
                    let stream = TcpStream::connect((host.as_str(), *port)).await?;
                    stream.set_nodelay(true)?;
                    match &self.security {
                        Some(security) => Ok(Stream::tls(security.over(stream).await?)),
                        None => Ok(Stream::tcp(stream)),
                    }
                }
                Address::Ssh { user, host, port, socket } => {
                    Stream::ssh(ssh(user.as_deref(), host, *port, socket.as_deref())?)
                }
            }
        };
        match tokio::time::timeout(DIAL_WITHIN, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection within {} s", DIAL_WITHIN.as_secs()),
            )),
        }
    }
}

/// The innermost reason: those around it only say that there is one.
fn plainly(error: &(dyn std::error::Error + 'static)) -> io::Error {
    let mut innermost = error;
    loop {
        if let Some(error) = innermost.downcast_ref::<io::Error>() {
            return io::Error::new(error.kind(), error.to_string());
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => return io::Error::other(innermost.to_string()),
        }
    }
}

/// Runs `ssh`, without any question to the person: nobody would see it.
fn ssh(user: Option<&str>, host: &str, port: Option<u16>, socket: Option<&str>) -> io::Result<Child> {
    let mut command = Command::new("ssh");
    command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T"]);
    if let Some(user) = user {
        command.args(["-l", user]);
    }
    if let Some(port) = port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", host, "docker"]);
    if let Some(socket) = socket {
        command.args(["--host", &format!("unix://{socket}")]);
    }
    command.args(["system", "dial-stdio"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // Keys of the terminal are not for it.
    command.process_group(0);
    command.spawn().map_err(|error| io::Error::new(error.kind(), format!("`ssh` cannot be run: {error}")))
}

/// A connection to an engine.
pub struct Stream {
    reader: Reader,
    writer: Writer,
}

/// What comes from an engine.
pub enum Reader {
    /// Of a socket.
    Unix(OwnedReadHalf),
    /// Of a port.
    Tcp(tcp::OwnedReadHalf),
    /// Encrypted.
    Tls(ReadHalf<TlsStream<TcpStream>>),
    /// Through `ssh`.
    Ssh(Box<Ssh>),
}

/// What goes to an engine. Dropping it is an end of input there.
pub struct Writer(Option<Half>);

enum Half {
    Unix(OwnedWriteHalf),
    Tcp(tcp::OwnedWriteHalf),
    Tls(WriteHalf<TlsStream<TcpStream>>),
    /// Shared with the reader.
    Ssh(Input),
}

type Input = Arc<Mutex<Option<ChildStdin>>>;

/// The output of `ssh`, and what it says when there is none.
pub struct Ssh {
    output: ChildStdout,
    /// Nothing came yet.
    silent: bool,
    /// What it says of its failure.
    why: BoxFuture<'static, String>,
    /// Ended when dropped.
    _child: Child,
    /// Open for as long as there may be output.
    _input: Input,
}

impl Stream {
    /// Over a socket that is open.
    pub fn unix(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: Reader::Unix(reader), writer: Writer::new(Half::Unix(writer)) }
    }

    fn tcp(stream: TcpStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: Reader::Tcp(reader), writer: Writer::new(Half::Tcp(writer)) }
    }

    fn tls(stream: TlsStream<TcpStream>) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: Reader::Tls(reader), writer: Writer::new(Half::Tls(writer)) }
    }

    fn ssh(mut child: Child) -> io::Result<Self> {
        let gone = || io::Error::other("`ssh` has no input or output");
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(gone());
        };
        let said = tokio::spawn(async move {
            let mut errors = errors;
            let mut text = Vec::new();
            let _ = (&mut errors).take(LONGEST_WORD).read_to_end(&mut text).await;
            // The rest is not wanted, but must not block it.
            let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
            String::from_utf8_lossy(&text).trim().to_owned()
        });
        let why = async move {
            // A connection that `ssh` shares with others keeps this pipe open when it ends.
            let said = tokio::time::timeout(WORD_WITHIN, said).await;
            let said = said.ok().and_then(Result::ok).filter(|said| !said.is_empty());
            said.unwrap_or_else(|| "it ended without a word".to_owned())
        };
        let input = Arc::new(Mutex::new(Some(input)));
        let ssh = Ssh { output, silent: true, why: Box::pin(why), _child: child, _input: input.clone() };
        Ok(Self { reader: Reader::Ssh(Box::new(ssh)), writer: Writer::new(Half::Ssh(input)) })
    }

    /// Its two directions.
    pub fn into_split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }
}

impl Writer {
    fn new(half: Half) -> Self {
        Self(Some(half))
    }

    fn is_ssh(&self) -> bool {
        matches!(self.0, Some(Half::Ssh(_)))
    }

    /// Drops it without an end of input.
    pub fn forget(mut self) {
        match self.0.take() {
            Some(Half::Unix(half)) => half.forget(),
            Some(Half::Tcp(half)) => half.forget(),
            Some(Half::Tls(_) | Half::Ssh(_)) | None => {}
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Half::Ssh(input)) => drop(input.lock().unwrap_or_else(PoisonError::into_inner).take()),
            Some(Half::Tls(mut half)) => {
                // The word of an end must be written, which a socket does by itself.
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(async move { half.shutdown().await });
                }
            }
            Some(Half::Unix(_) | Half::Tcp(_)) | None => {}
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(half) => Pin::new(half).poll_read(cx, to),
            Self::Tcp(half) => Pin::new(half).poll_read(cx, to),
            Self::Tls(half) => Pin::new(half).poll_read(cx, to),
            Self::Ssh(ssh) => ssh.poll_read(cx, to),
        }
    }
}

impl Ssh {
    fn poll_read(&mut self, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.output).poll_read(cx, to))?;
        if to.filled().len() > before || to.remaining() == 0 {
            self.silent = false;
        }
        if self.silent {
            let why = ready!(self.why.as_mut().poll(cx));
            self.silent = false;
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionRefused, format!("ssh: {why}"))));
        }
        Poll::Ready(Ok(()))
    }
}

impl Writer {
    fn poll(
        &mut self,
        work: impl FnOnce(Pin<&mut (dyn AsyncWrite + Unpin)>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let broken = || Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        match &mut self.0 {
            Some(Half::Unix(half)) => work(Pin::new(half)),
            Some(Half::Tcp(half)) => work(Pin::new(half)),
            Some(Half::Tls(half)) => work(Pin::new(half)),
            Some(Half::Ssh(input)) => match &mut *input.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(pipe) => work(Pin::new(pipe)),
                None => broken(),
            },
            None => broken(),
        }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match this.poll(|half| half.poll_write(cx, bytes)) {
            // An `ssh` that ended: why is heard from the reader.
            Poll::Ready(Err(error)) if this.is_ssh() && error.kind() == io::ErrorKind::BrokenPipe => {
                Poll::Ready(Ok(bytes.len()))
            }
            outcome => outcome,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll(|half| half.poll_flush(cx).map_ok(|()| 0)).map_ok(|_| ())
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(Half::Ssh(input)) = &this.0 {
            // Closing a pipe is all that there is of an end.
            input.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Poll::Ready(Ok(()));
        }
        this.poll(|half| half.poll_shutdown(cx).map_ok(|()| 0)).map_ok(|_| ())
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(cx, to)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<TokioIo<Stream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move { dialer.dial().await.map(TokioIo::new) })
    }
}
