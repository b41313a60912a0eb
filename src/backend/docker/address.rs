//! Where an engine is: what a URL says, and what keeps it from being understood.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The ports that engines have by custom: without and with TLS.
const PLAIN_PORT: u16 = 2375;
const TLS_PORT: u16 = 2376;

/// Where an engine is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Address {
    /// A socket of this machine.
    Unix(PathBuf),
    /// A port of a machine.
    Tcp {
        /// Name or number of the machine.
        host: String,
        /// The port.
        port: u16,
        /// Set where the connection is encrypted.
        tls: Option<Tls>,
    },
    /// Through `ssh`, to the docker command line there.
    Ssh {
        /// As whom.
        user: Option<String>,
        /// Name or number of the machine.
        host: String,
        /// The port.
        port: Option<u16>,
        /// The engine's socket there, where it is not the usual one.
        socket: Option<String>,
    },
}

/// The files of an encrypted connection, and whether the engine must prove who it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tls {
    /// Who vouches for the engine; `None` = whom this machine trusts.
    pub ca: Option<PathBuf>,
    /// Our certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
    /// Whether the engine's certificate is checked.
    pub verify: bool,
}

impl Tls {
    /// The files `ca.pem`, `cert.pem` and `key.pem` of a folder, those of them that are there.
    #[must_use]
    pub fn of(folder: &Path, verify: bool) -> Self {
        let file = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        Self { ca: file("ca.pem"), own: file("cert.pem").zip(file("key.pem")), verify }
    }
}

impl Address {
    /// What a URL says: `unix://PATH`, `tcp://HOST[:PORT]`, `http://`, `https://` or `ssh://[USER@]HOST[:PORT]`; a path
    /// alone is a socket. With `tls`, a `tcp://` connection is encrypted.
    ///
    /// # Errors
    /// It is none of these; the text says what is wrong with it.
    pub fn parse(url: &str, tls: Option<Tls>) -> Result<Self, String> {
        let url = url.trim();
        if url.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(url)));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(format!("`{url}` is no URL: write unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST"));
        };
        let (place, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let path = path.trim_end_matches('/');
        match scheme {
            "unix" if rest.starts_with('/') => Ok(Self::Unix(PathBuf::from(rest))),
            "unix" => Err(format!("`{url}` names no socket: write unix:///PATH, with three slashes")),
            "tcp" | "http" | "https" => {
                if !path.is_empty() || place.contains('@') {
                    return Err(format!("`{url}` is more than a host and a port"));
                }
                let whom_the_machine_trusts = || Tls { ca: None, own: None, verify: true };
                let tls = match scheme {
                    "https" => Some(tls.unwrap_or_else(whom_the_machine_trusts)),
                    "http" => None,
                    _ => tls,
                };
                let usual = if tls.is_some() { TLS_PORT } else { PLAIN_PORT };
                let (host, port) = host_and_port(url, place)?;
                Ok(Self::Tcp { host, port: port.unwrap_or(usual), tls })
            }
            "ssh" => {
                let (user, place) = match place.rsplit_once('@') {
                    Some((user, place)) => (Some(user), place),
                    None => (None, place),
                };
                if user.is_some_and(|user| user.contains(':')) {
                    // Nor is it repeated.
                    return Err("a password in an ssh:// URL is not used: use a key".to_owned());
                }
                let (host, port) = host_and_port(url, place)?;
                let word = |text: &str| !text.is_empty() && !text.starts_with('-');
                if !word(&host) || user.is_some_and(|user| !word(user)) {
                    return Err(format!("`{url}` names no host that ssh takes"));
                }
                let socket = Some(path).filter(|path| !path.is_empty()).map(str::to_owned);
                Ok(Self::Ssh { user: user.map(str::to_owned), host, port, socket })
            }
            "npipe" => Err(format!("`{url}` is a pipe of Windows, which this machine does not have")),
            _ => Err(format!("`{url}` is of a kind that is not known: unix://, tcp://, https:// and ssh:// are")),
        }
    }

    /// Its socket, if it is one of this machine.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        match self {
            Self::Unix(path) => Some(path),
            _ => None,
        }
    }

    /// The same for two ways to write the same place: links are followed.
    #[must_use]
    pub fn canonical(&self) -> Self {
        match self {
            Self::Unix(path) => Self::Unix(canonical(path)),
            other => other.clone(),
        }
    }

    /// A word that can stand in `endpoint/name` and is the same at each start.
    #[must_use]
    pub fn word(&self) -> String {
        let text = self.to_string();
        let rest = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
        rest.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
    }
}

/// Whether two URLs lead to the same place.
#[must_use]
pub fn same_place(one: &str, other: &str) -> bool {
    let place = |url| match Address::parse(url, None)?.canonical() {
        // Whether it is encrypted is a matter of how it is called, not of where it is.
        Address::Tcp { host, port, .. } => Ok(Address::Tcp { host, port, tls: None }),
        other => Ok::<_, String>(other),
    };
    place(one).is_ok_and(|one| place(other).is_ok_and(|other| one == other))
}

/// Follows links as far as there is something.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => canonical(folder).join(name),
        _ => path.to_owned(),
    }
}

fn host_and_port(url: &str, place: &str) -> Result<(String, Option<u16>), String> {
    let bad_port = |text: &str| format!("`{url}`: `{text}` is no port");
    let port = |text: &str| text.parse::<u16>().map(Some).map_err(|_| bad_port(text));
    let (host, port) = if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(|| format!("`{url}`: `[` without `]`"))?;
        (host, after.strip_prefix(':').map_or(Ok(None), port)?)
    } else if let Some((host, text)) = place.rsplit_once(':') {
        (host, port(text)?)
    } else {
        (place, None)
    };
    if host.is_empty() { Err(format!("`{url}` names no host")) } else { Ok((host.to_owned(), port)) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = |host: &str| if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp { host, port, tls } => {
                let scheme = if tls.is_some() { "https" } else { "tcp" };
                write!(f, "{scheme}://{}:{port}", bracketed(host))
            }
            Self::Ssh { user, host, port, socket } => {
                let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                write!(f, "ssh://{user}{}{port}{}", bracketed(host), socket.as_deref().unwrap_or(""))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_again() {
        for (written, shown) in [
            ("/run/x.sock", "unix:///run/x.sock"),
            ("unix:///run/x.sock", "unix:///run/x.sock"),
            ("tcp://10.0.0.1", "tcp://10.0.0.1:2375"),
            ("http://box:80/", "tcp://box:80"),
            ("https://box", "https://box:2376"),
            ("tcp://[::1]:5", "tcp://[::1]:5"),
            ("ssh://me@box:2222", "ssh://me@box:2222"),
            ("ssh://box/run/user/1/docker.sock", "ssh://box/run/user/1/docker.sock"),
        ] {
            assert_eq!(Address::parse(written, None).map(|address| address.to_string()), Ok(shown.to_owned()));
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (written, why) in [
            ("box:2375", "no URL"),
            ("unix://run/x.sock", "three slashes"),
            ("tcp://box:many", "no port"),
            ("tcp://", "names no host"),
            ("tcp://box/path", "more than a host"),
            ("ssh://-oProxyCommand=x", "no host that ssh takes"),
            ("ssh://me:secret@box", "use a key"),
            ("npipe:////./pipe/x", "Windows"),
            ("ftp://box", "not known"),
        ] {
            let error = Address::parse(written, None).expect_err(written);
            assert!(error.contains(why) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_word_is_fit_for_a_name() {
        let word = |url| Address::parse(url, None).expect("an address").word();
        assert_eq!(word("ssh://me@box:22"), "me-box-22");
        assert_eq!(word("unix:///tmp/a b/x.sock"), "tmp-a-b-x.sock");
    }

    #[test]
    fn links_lead_to_the_same_place() {
        let dir = tempfile::tempdir().expect("folder");
        std::fs::create_dir(dir.path().join("run")).expect("made");
        std::os::unix::fs::symlink(dir.path().join("run"), dir.path().join("var")).expect("linked");
        let at = |path: &str| Address::Unix(dir.path().join(path)).canonical();
        assert_eq!(at("var/not-yet.sock"), at("run/not-yet.sock"));
    }
}
