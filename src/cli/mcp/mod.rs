//! `mcp`: a server of the Model Context Protocol on standard input and output, so that an agent of any make runs its commands
//! in an environment of ours. It is a client of the host like every other verb; nothing but the protocol is written to
//! standard output.

mod args;
mod commands;
mod files;
mod hub;
mod kept;
mod link;
mod screen;
mod server;
mod tools;
mod turns;

use super::complete;
use super::context::Context;
use super::exec::Signals;
use super::output::Failure;
use crate::api::{ApiError, ErrorCode};
use clap::Args;
use hub::Hub;
use rmcp::service::{ServerInitializeError, serve_server};
use server::Server;
use std::io;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// Bytes of output, of a file or of a screen in one answer, if nothing else is asked for.
const LIMIT: usize = 30_000;
/// Time in which calls that run are still answered after the client has said its last word.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
#[command(
    after_help = "An agent starts it and speaks the Model Context Protocol with it; docs/mcp.md says how to set that up. \
                        When the connection ends, in whatever way, its open turns and its commands end."
)]
pub(super) struct Mcp {
    /// The conversation that is meant where a call names none [default: a new one for each connection]
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: Option<String>,
}

/// Who calls a tool, and whether it is still wanted.
struct Asked {
    /// The name of the client: the source of its turns, and the title of a new conversation.
    client: Option<String>,
    cancel: CancellationToken,
}

pub(super) fn run(context: &Context, mcp: Mcp) -> Result<u8, Failure> {
    context.wait(async {
        let mut signals = Signals::new()?;
        let over = CancellationToken::new();
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let input = Input { input, over: over.clone() };
        let server = Server(Hub::new(context.clone(), mcp.conversation));
        let serving = async {
            let running = serve_server(server, (input, output)).await?;
            let hub = running.service();
            tokio::select! {
                () = hub.0.keep_alive() => {}
                () = over.cancelled() => {}
            }
            let _ = running.waiting().await;
            Ok(())
        };
        let silence = async {
            over.cancelled().await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        // Whichever is first: with this the connection to the host closes, which ends what we hold.
        tokio::select! {
            served = serving => served.map_or_else(not_begun, |()| Ok(0)),
            () = silence => Ok(0),
            _ = signals.next() => Ok(0),
        }
    })
}

/// Why it did not get as far as the tools.
fn not_begun(error: ServerInitializeError) -> Result<u8, Failure> {
    match error {
        // Whoever only looked whether it starts.
        ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled => Ok(0),
        error => {
            let why = match error {
                ServerInitializeError::ExpectedInitializeRequest(_) => {
                    "its first message was no `initialize`".to_owned()
                }
                other => other.to_string(),
            };
            let message = format!("cannot serve the client: {why}");
            let hint = "an agent starts this with standard input and output for itself: see docs/mcp.md";
            Err(ApiError::new(ErrorCode::Protocol, message, hint).into())
        }
    }
}

/// Standard input that says when nothing more comes.
struct Input<R> {
    input: R,
    over: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut TaskContext<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.input).poll_read(cx, buffer);
        if matches!(&read, Poll::Ready(Ok(())) if buffer.filled().len() == before)
            || matches!(&read, Poll::Ready(Err(_)))
        {
            this.over.cancel();
        }
        read
    }
}
