//! The raw stream of an exec.
//!
//! The client library takes a chunk that begins with 0, 1 or 2 for a frame header, also on a terminal's stream, and
//! loses it. So the exec is started here by hand, and its bytes are taken as they come.

use super::dial::{Dialer, Stream};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A response's head that is longer than this is none.
const LONGEST_HEAD: usize = 64 << 10;
/// An error's text that is longer than this is cut.
const LONGEST_ERROR: usize = 16 << 10;

/// Starts an exec and gives its stream, and what came with the head already.
///
/// # Errors
/// The engine cannot be reached, or says no.
pub async fn start(dialer: &Dialer, exec: &str, tty: bool) -> io::Result<(Stream, Vec<u8>)> {
    let mut stream = dialer.dial().await?;
    let body = format!("{{\"Detach\":false,\"Tty\":{tty}}}");
    let request = format!(
        "POST /exec/{exec}/start HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\nConnection: Upgrade\r\n\
         Upgrade: tcp\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let (head, rest) = read_head(&mut stream).await?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok()).unwrap_or(0);
    if status == 101 || status == 200 {
        return Ok((stream, rest));
    }
    let why = read_error(&mut stream, &head, rest).await;
    Err(io::Error::other(format!("the engine said {status}: {why}")))
}

async fn read_head(stream: &mut Stream) -> io::Result<(String, Vec<u8>)> {
    let mut seen = Vec::new();
    loop {
        if let Some(at) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = seen.split_off(at + 4);
            return Ok((String::from_utf8_lossy(&seen).into_owned(), rest));
        }
        if seen.len() > LONGEST_HEAD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what answers there is no engine"));
        }
        if stream.read_buf(&mut seen).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn read_error(stream: &mut Stream, head: &str, mut body: Vec<u8>) -> String {
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0)
        .min(LONGEST_ERROR);
    while body.len() < length && stream.read_buf(&mut body).await.is_ok_and(|n| n > 0) {}
    let said = serde_json::from_slice::<serde_json::Value>(&body).ok();
    let message = said.and_then(|value| value["message"].as_str().map(str::to_owned));
    message.unwrap_or_else(|| String::from_utf8_lossy(&body).trim().to_owned())
}

/// Takes apart the frames of an exec without a terminal: a header of 8 bytes (stream, three zeros, length as 32 bits,
/// most significant first), then so many bytes. Ends at the end of the stream.
///
/// # Errors
/// Reading fails, or what comes is no frame.
pub async fn demultiplex(
    mut from: impl AsyncRead + Unpin,
    mut stdout: impl AsyncWrite + Unpin,
    mut stderr: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let mut header = [0; 8];
        match from.read_exact(&mut header).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let [stream, 0, 0, 0, a, b, c, d] = header else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the engine's frames are not understood"));
        };
        let mut left = u32::from_be_bytes([a, b, c, d]) as usize;
        while left > 0 {
            let part = left.min(buffer.len());
            let n = from.read(&mut buffer[..part]).await?;
            if n == 0 {
                return Ok(());
            }
            // Whoever does not want one of them any more must not stop the other.
            let _ =
                if stream == 2 { stderr.write_all(&buffer[..n]).await } else { stdout.write_all(&buffer[..n]).await };
            left -= n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_taken_apart_whatever_their_bytes_are() {
        let mut wire = vec![1, 0, 0, 0, 0, 0, 0, 3, 1, 0, 2];
        wire.extend([2, 0, 0, 0, 0, 0, 0, 1, 9]);
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        demultiplex(wire.as_slice(), &mut out, &mut errors).await.expect("frames");
        assert_eq!((out, errors), (vec![1, 0, 2], vec![9]));
        assert!(demultiplex(&b"not frames"[..], Vec::new(), Vec::new()).await.is_err());
    }
}
