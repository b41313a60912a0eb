//! What a host and the first process of a sandbox say to each other.
//!
//! Frames on a stream socket: length (4 bytes, little endian), then JSON. Descriptors travel beside the first
//! byte of the frame that announces them (unix(7), `SCM_RIGHTS`), so they arrive in the order of the frames.

use crate::domain::{Mount, Size};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// The longest frame: room for the largest argument list that Linux takes (2 MiB), escaped.
pub const MAX_FRAME: usize = 16 << 20;

/// Version of what is said here; both ends come from the same program unless it was replaced while a sandbox ran.
pub const VERSION: u32 = 1;

/// What the first process is told at its start, on its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// Id of the sandbox.
    pub sandbox: String,
    /// Name of the environment; becomes the host name inside.
    pub name: String,
    /// Generation.
    pub generation: u64,
    /// Where it listens, on the host.
    pub socket: PathBuf,
    /// Folder of the host that becomes the home directory.
    pub home: PathBuf,
    /// Folder of the host that becomes `/workspace`.
    pub workspace: PathBuf,
    /// More folders of the host.
    pub mounts: Vec<Mount>,
    /// Folders of the host that must not be seen inside, even under a mount that holds them.
    pub hidden: Vec<PathBuf>,
    /// Variables of every program inside.
    pub vars: BTreeMap<String, String>,
    /// Whether it keeps the host's network.
    pub host_network: bool,
    /// Processor limit in thousandths of a core.
    pub cpu_millis: Option<u32>,
    /// Memory limit in bytes.
    pub memory_bytes: Option<u64>,
    /// Most processes and threads at a time.
    pub max_processes: u64,
    /// It ends by itself this long after the last host left; `None` = never.
    pub alone_ms: Option<u64>,
    /// Shell to use instead of the first found.
    pub shell: Option<String>,
    /// Only try whether it can be set up, then end.
    pub probe: bool,
}

/// What a start reports, once, on standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Report {
    /// It listens.
    Ready(Ready),
    /// It could not be set up.
    Refused {
        /// What was tried and why it failed.
        message: String,
        /// What to do next.
        hint: String,
    },
}

/// A sandbox that listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its first process, as the host sees it.
    pub pid: i32,
    /// Start of that, in clock ticks since boot.
    pub pid_started: u64,
    /// The process outside that waits for it and clears up.
    pub watcher: i32,
    /// Start of that.
    pub watcher_started: u64,
    /// Folders of its control groups. Its watcher removes them, and its host if the watcher was killed.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// Limits: name, and value or why it is not enforced.
    pub limits: Vec<(String, String)>,
    /// Limits that were asked for but are not in force, one sentence each.
    pub unenforced: Vec<String>,
}

/// From the host.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Comes back with the reply.
    pub id: u64,
    /// What to do.
    pub op: Op,
}

/// What a host can ask for.
#[derive(Debug, Serialize, Deserialize)]
pub enum Op {
    /// Who are you?
    Hello,
    /// Open a PTY session, or hand over the one of that name that runs.
    Open {
        /// Its name.
        session: String,
        /// Argument vector; empty means a shell.
        program: Vec<String>,
        /// What leads to a shell.
        #[serde(default)]
        lead: Vec<String>,
        /// More variables.
        vars: Vec<(String, String)>,
        /// Directory.
        cwd: Option<String>,
        /// Size.
        size: Size,
        /// Only if it runs already.
        #[serde(default)]
        resume: bool,
    },
    /// End a session and every process of it; answered when they are gone.
    Close {
        /// Which.
        session: String,
    },
    /// Name the sessions. Those that ended are named once, then forgotten.
    Sessions,
    /// Run a command on three pipes.
    Exec {
        /// Its name.
        call: String,
        /// Argument vector.
        argv: Vec<String>,
        /// More variables.
        vars: Vec<(String, String)>,
        /// Directory.
        cwd: Option<String>,
    },
    /// End a command and every process of its session; answered when they are gone.
    Kill {
        /// Which.
        call: String,
    },
    /// What lives?
    Evidence,
    /// TERM to everything, and after the grace period the end.
    Stop {
        /// In milliseconds.
        grace_ms: u64,
    },
}

/// To the host.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Answer to a request.
    Reply {
        /// Of which.
        id: u64,
        /// How many descriptors come with it.
        fds: usize,
        /// The answer, or one exact sentence why not.
        answer: Result<Answer, String>,
    },
    /// A session's program ended, and every process of its session with it.
    SessionEnded {
        /// Which.
        session: String,
        /// Exit code.
        code: i32,
    },
    /// A command ended.
    CallEnded {
        /// Which.
        call: String,
        /// Exit code.
        code: i32,
    },
    /// It ends now, orderly.
    Bye {
        /// One sentence.
        why: String,
    },
}

/// Answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Who it is.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Its sandbox.
        sandbox: String,
        /// Its generation.
        generation: u64,
    },
    /// The PTY comes along.
    Opened {
        /// It ran before.
        reopened: bool,
        /// What it printed while no host was there, the end of it.
        missed: Vec<u8>,
    },
    /// Standard input, output and error come along.
    Started,
    /// The command could not be run; this is its exit code (126, 127).
    NotRun {
        /// Exit code.
        code: i32,
        /// One sentence.
        why: String,
    },
    /// Done.
    Done,
    /// Sessions.
    Sessions(Vec<SessionRow>),
    /// What lives.
    Evidence {
        /// Processes that count.
        processes: Vec<ProcessRow>,
        /// Shells at their prompt.
        idle_shells: u32,
    },
}

/// A session as its sandbox knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its name.
    pub session: String,
    /// Argument vector; empty means a shell.
    pub program: Vec<String>,
    /// Size of its terminal.
    pub size: Size,
    /// Exit code if it ended.
    pub ended: Option<i32>,
}

/// A process that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Its id inside.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// When it started: milliseconds since 1970.
    pub started_ms: u64,
}

/// One frame with its length in front.
pub fn frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    if body.len() > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too long"));
    }
    let mut bytes = Vec::with_capacity(body.len() + 4);
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Takes the first whole frame off `buffer`; `None` if more bytes are needed.
///
/// # Errors
/// The frame is too long, or not what was expected: the connection is of no more use.
pub fn take_frame<T: for<'de> Deserialize<'de>>(buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some(head) = buffer.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    let Some(body) = buffer.get(4..4 + length) else { return Ok(None) };
    let message = serde_json::from_slice(body)?;
    buffer.drain(..4 + length);
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_whole_however_they_are_cut() {
        let mut bytes = frame(&Op::Evidence).expect("frame");
        bytes.extend(frame(&Op::Kill { call: "c".into() }).expect("frame"));
        let mut buffer = Vec::new();
        let mut seen = Vec::new();
        for byte in bytes {
            buffer.push(byte);
            while let Some(op) = take_frame::<Op>(&mut buffer).expect("valid") {
                seen.push(format!("{op:?}"));
            }
        }
        assert_eq!(seen, ["Evidence", "Kill { call: \"c\" }"]);
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_frame_that_claims_too_much_is_refused_before_it_is_awaited() {
        let mut buffer = (MAX_FRAME as u32 + 1).to_le_bytes().to_vec();
        assert!(take_frame::<Op>(&mut buffer).is_err());
        let mut buffer = [2u32.to_le_bytes().as_slice(), b"{}"].concat();
        assert!(take_frame::<Op>(&mut buffer).is_err());
    }
}
