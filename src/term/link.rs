//! Hyperlinks (OSC 8): where one leads, fit to be shown before it is used. None is ever passed on to the outer terminal,
//! so that nothing opens what was not seen.

use super::view::View;

/// Most links of one screen that are listed.
const MOST: usize = 200;
/// Longest text of a link that is listed. Characters.
const MAX_TEXT: usize = 200;

/// A link in sight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// What is written there.
    pub text: String,
    /// Where it leads, as by [`address`].
    pub address: String,
}

/// An address as it is shown and copied: printable ASCII, everything else as `%XX`, so that no sign hides, turns or only
/// looks like another one.
#[must_use]
pub fn address(link: &str) -> String {
    let mut out = String::with_capacity(link.len());
    for byte in link.bytes() {
        if byte.is_ascii_graphic() {
            out.push(byte.into());
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The part of an address that says where it leads, without a name of a user before it: `HOST` of
/// `https://bank.example@HOST/path`. The whole where it has no such part.
#[must_use]
pub fn host(address: &str) -> &str {
    let authority = &address[..authority_end(address)];
    let start = authority.find("://").map_or(0, |at| at + 3);
    let host = &authority[start..];
    if start == 0 { address } else { host.rsplit_once('@').map_or(host, |(_, host)| host) }
}

/// Where scheme and host of an address end.
fn authority_end(address: &str) -> usize {
    let start = address.find("://").map_or(0, |at| at + 3);
    if start == 0 {
        return address.len();
    }
    address[start..].find(['/', '?', '#', '\\']).map_or(address.len(), |at| start + at)
}

/// An address of [`address`] within so many columns. What is left out is in the middle of the path; where even the host
/// has no room, its end is what stays: that decides.
#[must_use]
pub fn elided(address: &str, columns: usize, ellipsis: &str) -> String {
    let named = address[..authority_end(address)].contains('@');
    let shown = if named { format!("{} ({address})", host(address)) } else { address.to_owned() };
    if shown.len() <= columns {
        return shown;
    }
    let end = authority_end(address);
    let room = columns.saturating_sub(1);
    if named || end > room {
        let host = host(address);
        let kept = &host[host.len().saturating_sub(if host.len() > columns { room } else { columns })..];
        let cut = if kept.len() < host.len() { ellipsis } else { "" };
        return format!("{cut}{kept}");
    }
    let tail = (room - end) / 2;
    format!("{}{ellipsis}{}", &address[..room - tail], &address[address.len() - tail..])
}

/// Where the cell at a row and column of a view leads.
#[must_use]
pub fn at(view: &View<'_>, row: u16, col: u16) -> Option<String> {
    let mut found = None;
    if row < view.rows() {
        view.for_each_in_row(row, |start, cell| {
            if (start..start + u16::from(cell.width)).contains(&col) {
                found = cell.link.map(address);
            }
        });
    }
    found
}

/// The links in a view, from the top, each once.
#[must_use]
pub fn all(view: &View<'_>) -> Vec<Link> {
    let mut found: Vec<Link> = Vec::new();
    let mut open: Option<Link> = None;
    let mut close = |link: Option<Link>| {
        if let Some(link) = link {
            let link = Link { text: link.text.trim().to_owned(), ..link };
            if found.len() < MOST && !found.contains(&link) {
                found.push(link);
            }
        }
    };
    view.for_each_cell(|_, _, cell| {
        let to = cell.link.map(address);
        if open.as_ref().map(|link| &link.address) != to.as_ref() {
            close(open.take());
            open = to.map(|address| Link { text: String::new(), address });
        }
        if let Some(link) = open.as_mut().filter(|link| link.text.chars().count() < MAX_TEXT) {
            link.text.push_str(cell.text);
        }
    });
    close(open);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_hides_nothing() {
        assert_eq!(address("https://e.org/a b\u{202e}c"), "https://e.org/a%20b%E2%80%AEc");
        // A Cyrillic letter that looks like a Latin one.
        assert_eq!(address("https://p\u{430}y.org"), "https://p%D0%B0y.org");
        assert_eq!(address("https://xn--py-7kc.org"), "https://xn--py-7kc.org");
    }

    #[test]
    fn the_host_is_what_decides() {
        assert_eq!(host("https://bank.example@evil.org/login"), "evil.org");
        assert_eq!(host("https://evil.org\\@bank.example/"), "evil.org");
        assert_eq!(host("https://evil.org?@bank.example"), "evil.org");
        assert_eq!(host("http://e.org:8080/x"), "e.org:8080");
        assert_eq!(host("mailto:me@e.org"), "mailto:me@e.org");
    }

    #[test]
    fn what_has_no_room_is_left_out_where_it_matters_least() {
        assert_eq!(elided("https://e.org/path", 40, "~"), "https://e.org/path");
        assert_eq!(elided("https://e.org/0123456789/end", 21, "~"), "https://e.org/012~end");
        assert_eq!(elided("https://bank.example.of.evil.org/x", 12, "~"), "~of.evil.org");
        assert_eq!(elided("https://bank.example@evil.org/x", 50, "~"), "evil.org (https://bank.example@evil.org/x)");
        assert_eq!(elided("https://bank.example@evil.org/x", 30, "~"), "evil.org");
        for columns in 0..50 {
            let shown = elided("https://bank.example@some.where.evil.org/a/long/path?and=more", columns, "~");
            assert!(shown.len() <= columns.max(1), "{columns}: {shown}");
        }
    }
}
