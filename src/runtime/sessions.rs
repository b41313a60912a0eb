//! Open pane sessions: a reader, a writer and a resizer for each, with back-pressure both ways.

use super::effects::OpenedSession;
use super::inbound::{Inbound, Inbox};
use super::lanes::Lane;
use crate::app::Msg;
use crate::domain::{Event, SessionId, Size};
use crate::pty::PtyLink;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::{Notify, mpsc, watch};

/// One message of output holds at most this much.
const READ_BYTES: usize = 64 * 1024;
/// What may wait for a program that does not read. A larger paste is refused, not cut.
const WRITE_BYTES: usize = 32 * 1024 * 1024;

/// How long the last output is waited for after a program's end.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// How long the processes of a program that has ended are waited for. HUP, a grace and KILL take less.
const LAST_CLOSE: Duration = Duration::from_secs(10);

/// A program has seen another size of its terminal after this long.
const SEEN: Duration = Duration::from_millis(150);

/// The open sessions.
#[derive(Default)]
pub struct Sessions {
    open: BTreeMap<SessionId, Open>,
    last_serial: u64,
}

struct Open {
    serial: u64,
    write: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    resize: watch::Sender<Size>,
    close: Arc<Notify>,
    control: Arc<dyn crate::pty::PtyControl>,
}

impl Sessions {
    /// Takes over a fresh PTY: tells that it is open, then forwards its output and its end.
    pub fn add(&mut self, opened: OpenedSession, inbox: &Inbox) {
        let OpenedSession { session, generation, size, resumed, link } = opened;
        self.last_serial += 1;
        let serial = self.last_serial;
        let PtyLink { reader, writer, control, exit } = link;
        let (write, writes) = mpsc::unbounded_channel();
        let (resize, sizes) = watch::channel(size);
        let waiting = Arc::new(AtomicUsize::new(0));
        let close = Arc::new(Notify::new());
        tokio::spawn(write_all(writer, writes, Arc::clone(&waiting)));
        let inbox = inbox.clone();
        let closing = Arc::clone(&close);
        let control: Arc<dyn crate::pty::PtyControl> = Arc::from(control);
        tokio::spawn(resize_all(Arc::clone(&control), sizes, resumed));
        let (id, mine) = (session.clone(), Arc::clone(&control));
        let lane = inbox.lane();
        tokio::spawn(async move {
            inbox.event(Event::SessionOpened { session: id.clone(), generation }).await;
            let end = async {
                let read = read_all(id.clone(), reader, &lane);
                tokio::pin!(read);
                tokio::pin!(exit);
                // The exit code comes when the leader ends. What it printed before must still be shown, but a child
                // in the background may hold the terminal open for ever: closing the session ends that child too.
                tokio::select! {
                    () = &mut read => exit.await,
                    code = &mut exit => {
                        let _ = tokio::time::timeout(LAST_CLOSE, control.close()).await;
                        // What escaped with setsid may hold the terminal still; it is the environment's now.
                        let _ = tokio::time::timeout(LAST_OUTPUT, &mut read).await;
                        code
                    }
                }
            };
            let close = async {
                closing.notified().await;
                let busy = inbox.outstanding();
                let _ = control.close().await;
                drop(busy);
                std::future::pending::<()>().await;
            };
            let exit_code = tokio::select! { code = end => code, () = close => None };
            lane.send(Inbound::SessionOver { session: id, serial, exit_code }).await;
        });
        // The PTY of an earlier sandbox is of no use to anybody.
        if let Some(old) = self.open.insert(session, Open { serial, write, waiting, resize, close, control: mine }) {
            old.close.notify_one();
        }
    }

    /// Sends bytes to a program.
    ///
    /// # Errors
    /// One sentence when the program does not read and too much waits already; nothing of `bytes` is sent then.
    pub fn write(&self, session: &SessionId, bytes: Vec<u8>) -> Result<(), String> {
        let Some(open) = self.open.get(session) else { return Ok(()) };
        let (waiting, more) = (open.waiting.load(Ordering::Relaxed), bytes.len());
        if waiting + more > WRITE_BYTES {
            let mib = |n: usize| n.div_ceil(1024 * 1024);
            return Err(if waiting == 0 {
                format!(
                    "input refused: {} MiB at once, {} MiB are possible; send it in parts",
                    mib(more),
                    mib(WRITE_BYTES)
                )
            } else {
                format!(
                    "input refused: the program has not read {} MiB that wait already; end it or let it read",
                    mib(waiting)
                )
            });
        }
        open.waiting.fetch_add(more, Ordering::Relaxed);
        if open.write.send(bytes).is_err() {
            // The program is gone and its end is on its way.
            open.waiting.fetch_sub(more, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Gives a program's terminal another size; of many in a row only the last is applied.
    pub fn resize(&self, session: &SessionId, size: Size) {
        if let Some(open) = self.open.get(session) {
            open.resize.send_if_modified(|now| std::mem::replace(now, size) != size);
        }
    }

    /// Ends a program and every process of its session, if it is open.
    pub fn close(&self, session: &SessionId) {
        if let Some(open) = self.open.get(session) {
            open.close.notify_one();
        }
    }

    /// Ends these, and waits until every process of theirs has ended: at the end of the host, where nobody could take
    /// them over.
    pub async fn end(&self, which: impl Fn(&SessionId) -> bool) {
        let open = self.open.iter().filter(|(id, _)| which(id));
        let closing = open.map(|(_, open)| {
            let control = Arc::clone(&open.control);
            tokio::spawn(async move { control.close().await })
        });
        let all: Vec<_> = closing.collect();
        let wait = async {
            for one in all {
                let _ = one.await;
            }
        };
        if tokio::time::timeout(LAST_CLOSE, wait).await.is_err() {
            tracing::warn!("not every session ended in time; what is left runs on in its sandbox");
        }
    }

    /// Forgets one whose PTY ended. False when that PTY is not the session's any more.
    pub fn remove(&mut self, session: &SessionId, serial: u64) -> bool {
        let is_it = self.open.get(session).is_some_and(|open| open.serial == serial);
        if is_it {
            self.open.remove(session);
        }
        is_it
    }
}

async fn read_all(session: SessionId, mut reader: Box<dyn AsyncRead + Send + Unpin>, lane: &Lane) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let n = read_burst(reader.as_mut(), &mut buffer).await;
        if n == 0 {
            return;
        }
        lane.send(Inbound::Msg(Msg::Output { session: session.clone(), bytes: buffer[..n].to_vec() })).await;
    }
}

/// Waits for the first bytes, then takes all that is there without waiting: a PTY hands out at most 4 KiB a read.
/// Zero means the end.
async fn read_burst(reader: &mut (dyn AsyncRead + Send + Unpin), buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    poll_fn(|cx| {
        while filled < buffer.len() {
            let mut part = ReadBuf::new(&mut buffer[filled..]);
            match Pin::new(&mut *reader).poll_read(cx, &mut part) {
                Poll::Pending if filled == 0 => return Poll::Pending,
                Poll::Ready(Ok(())) if !part.filled().is_empty() => filled += part.filled().len(),
                Poll::Pending | Poll::Ready(_) => break,
            }
        }
        Poll::Ready(filled)
    })
    .await
}

async fn write_all(
    mut writer: Box<dyn AsyncWrite + Send + Unpin>,
    mut writes: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
) {
    while let Some(bytes) = writes.recv().await {
        let done = writer.write_all(&bytes).await.is_ok() && writer.flush().await.is_ok();
        waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
        if !done {
            // The program is gone; its end is told by the reader.
            writes.close();
        }
    }
}

async fn resize_all(control: Arc<dyn crate::pty::PtyControl>, mut sizes: watch::Receiver<Size>, resumed: bool) {
    if resumed {
        // What it showed is not known any more. A program draws itself anew when it is told of another size.
        let size = *sizes.borrow();
        let _ = control.resize(Size { rows: size.rows.saturating_add(1), ..size }).await;
        // A shell compares sizes only when it gets to it: two changes at once are none for it.
        tokio::time::sleep(SEEN).await;
        let _ = control.resize(size).await;
    }
    while sizes.changed().await.is_ok() {
        let size = *sizes.borrow_and_update();
        let _ = control.resize(size).await;
    }
}
