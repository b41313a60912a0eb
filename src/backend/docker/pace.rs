//! Typing into a container of Podman no faster than its monitor can bear.
//!
//! The monitor of an exec (conmon) waits in a write to the terminal for as long as that is full, and reads nothing from
//! it meanwhile. A program that answers what it reads then waits for the monitor, and both for ever. So a long input
//! is written in pieces that the terminal takes in at once, and no more than a little goes ahead of the program's
//! output.

use super::dial::Writer;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

/// The terminal's own buffer (N_TTY_BUF_SIZE), and half of what the monitor reads of the output at a time.
const PIECE: usize = 4 << 10;
/// Bytes that are written without a look at the output, far below the 64 KiB that the kernel holds for each direction
/// of a terminal.
const AHEAD: usize = 8 << 10;
/// A program that says nothing gets more after so long.
const SILENCE: Duration = Duration::from_millis(20);

/// Passes what is typed on until nobody types any more; `output` counts the bytes that came out. Ends without an end of
/// input.
pub async fn pace(mut from: DuplexStream, mut to: Writer, mut output: watch::Receiver<usize>) {
    let mut piece = vec![0; PIECE];
    let (mut ahead, mut answered) = (0, 0);
    while let Ok(n) = from.read(&mut piece).await {
        if n == 0 || to.write_all(&piece[..n]).await.is_err() {
            break;
        }
        ahead += n;
        if ahead < AHEAD {
            continue;
        }
        while output.borrow_and_update().wrapping_sub(answered) < ahead {
            if !matches!(tokio::time::timeout(SILENCE, output.changed()).await, Ok(Ok(()))) {
                break;
            }
        }
        (ahead, answered) = (0, *output.borrow());
    }
    to.forget();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_typed_waits_where_nothing_answers_and_arrives_whole() {
        let (near, mut far) = tokio::net::UnixStream::pair().expect("a pair");
        let (mut typed, from) = tokio::io::duplex(4 * AHEAD);
        let (_reader, writer) = super::super::dial::Stream::unix(near).into_split();
        let (_output, answers) = watch::channel(0);
        let paced = tokio::spawn(pace(from, writer, answers));
        let began = std::time::Instant::now();
        let sent: Vec<u8> = (0..3 * AHEAD).map(|i| (i % 251) as u8).collect();
        typed.write_all(&sent).await.expect("typed");
        let mut seen = vec![0; sent.len()];
        far.read_exact(&mut seen).await.expect("all of it");
        assert!(seen == sent);
        assert!(began.elapsed() >= 2 * SILENCE, "it was written without a pause");
        drop(typed);
        paced.await.expect("ends");
        far.write_all(b"more").await.expect("the other direction");
        let nothing = far.try_read(&mut seen).expect_err("no end of input");
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    }
}
