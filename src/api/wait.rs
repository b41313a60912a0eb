//! Waiting for a session: for its end, or for a text on its screen. The host answers when it happens; nobody asks again.

use super::protocol::SessionWait;
use super::server::Reply;
use super::{queries, shapes};
use crate::app::Model;
use crate::domain::{Refusal, RefusalKind, Session, SessionId, SessionState};
use crate::runtime::handle::HostHandle;
use crate::term::Screen;
use serde_json::{Value, json};

/// Answers when it has happened. Whoever asked may leave before.
pub(super) async fn session(host: &HostHandle, params: SessionWait, reply: Reply) {
    let out = reply.outgoing().clone();
    tokio::select! {
        answer = happened(host, params) => reply.send(answer),
        () = out.closed() => {}
    }
}

async fn happened(host: &HostHandle, params: SessionWait) -> Result<Value, Refusal> {
    let SessionWait { session, text } = params;
    if text.as_ref().is_some_and(String::is_empty) {
        return Err(Refusal::new(RefusalKind::Usage, "cannot wait for an empty text", "name what is to be seen"));
    }
    let id = host.read(move |model, _| queries::session(&model.state, &session)).await??;
    match text {
        None => host.when(move |model, _| ended(model, &id)).await,
        Some(text) => {
            let mut looking = Looking { text, from: None };
            host.when(move |model, _| looking.at(model, &id)).await?
        }
    }
}

/// The answer once a session has ended. One that was forgotten has, too.
fn ended(model: &Model, id: &SessionId) -> Option<Value> {
    let Some(session) = model.state.sessions.get(id) else {
        return Some(shapes::reply(json!({"session": null, "ended": id, "exit_code": null})));
    };
    let SessionState::Ended { exit_code, .. } = &session.state else { return None };
    let shown = shapes::session(session, model.attached(id));
    Some(shapes::reply(json!({"session": shown, "ended": id, "exit_code": exit_code})))
}

/// Looks for a text on a screen.
struct Looking {
    text: String,
    /// The first line that can still change, and the numbering of lines that it belongs to: what scrolls off between two
    /// looks is looked at as well, and nothing is looked at for ever.
    from: Option<(u64, u64)>,
}

impl Looking {
    fn at(&mut self, model: &Model, id: &SessionId) -> Option<Result<Value, Refusal>> {
        let session = model.state.sessions.get(id);
        if let Some(line) = model.work.screens.get(id).and_then(|screen| self.found(screen)) {
            let shown = session.map(|session| shapes::session(session, model.attached(id)));
            return Some(Ok(shapes::reply(json!({"session": shown, "line": line}))));
        }
        let how = match session {
            Some(Session { state: SessionState::Ended { why, .. }, .. }) => why.as_str(),
            Some(_) => return None,
            None => "closed",
        };
        Some(Err(Refusal::new(
            RefusalKind::Failed,
            format!("session {id} is over before its screen showed `{}`: {how}", self.text.escape_debug()),
            format!("`hermes-tui session capture {id} --history` prints what it showed"),
        )))
    }

    /// The line that the text begins in.
    fn found(&mut self, screen: &Screen) -> Option<String> {
        let (top, epoch) = (screen.first_line(), screen.epoch());
        let from = self.from.filter(|(_, numbering)| *numbering == epoch).map_or(top, |(line, _)| line);
        let text = screen.text_from(from.min(top));
        self.from = Some((top, epoch));
        // Blanks at the end of a line are not told from cells that were never written: a line may have as many as wanted.
        let blanks = self.text.len() - self.text.trim_end_matches(' ').len();
        let text = if blanks == 0 { text } else { text.replace('\n', &format!("{}\n", " ".repeat(blanks))) };
        let at = text.find(&self.text)?;
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        text[begin..].lines().next().map(|line| line.trim_end_matches(' ').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Looking;
    use crate::domain::{Moment, Size};
    use crate::term::Screen;

    fn looking(text: &str) -> Looking {
        Looking { text: text.to_owned(), from: None }
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_seen() {
        let mut screen = Screen::new(Size { rows: 4, cols: 20 }, 100);
        screen.feed(Moment(0), b"agent@a:/workspace$ ");
        assert_eq!(looking("$ ").found(&screen).as_deref(), Some("agent@a:/workspace$"));
        assert_eq!(looking("$  x").found(&screen), None);
    }

    #[test]
    fn what_scrolled_off_between_two_looks_was_shown_too() {
        let mut screen = Screen::new(Size { rows: 4, cols: 20 }, 100);
        let mut looks = looking("third");
        assert_eq!(looks.found(&screen), None);
        let lines = ["first", "second", "the third one"].into_iter().chain(["x"; 20]);
        screen.feed(Moment(0), lines.collect::<Vec<_>>().join("\r\n").as_bytes());
        assert_eq!(looks.found(&screen).as_deref(), Some("the third one"));
        // What was there before anybody looked does not count.
        assert_eq!(looking("third").found(&screen), None);
    }

    #[test]
    fn a_text_over_wrapped_rows_and_one_over_several_lines_are_found() {
        let mut screen = Screen::new(Size { rows: 4, cols: 10 }, 100);
        let mut looks = looking("0123456789abcdef");
        assert_eq!(looks.found(&screen), None);
        screen.feed(Moment(0), b"0123456789");
        assert_eq!(looks.found(&screen), None);
        screen.feed(Moment(0), b"abcdef\r\n1\r\n2\r\n3\r\n4\r\n");
        assert_eq!(looks.found(&screen).as_deref(), Some("0123456789abcdef"));
        assert_eq!(looking("3\n4").found(&screen).as_deref(), Some("3"));
    }
}
