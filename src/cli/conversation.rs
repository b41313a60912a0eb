//! `conversation`: agent sessions.

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, ago, short, text};
use super::turn::print_turns;
use crate::api::ApiCall;
use crate::api::protocol::{ConversationRef, Nothing};
use clap::{Args, Subcommand};
use serde_json::Value;

#[derive(Subcommand, Debug)]
pub(super) enum Conversation {
    /// All conversations
    List(List),
    /// One conversation with its turns and commands
    Show(Which),
    /// End it: what becomes of its environment is said by scope and retention
    End(Which),
}

#[derive(Args, Debug)]
pub(super) struct List {
    /// Only ids, one a line
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct Which {
    /// Its id
    #[arg(add = complete::conversation())]
    conversation: String,
}

pub(super) fn run(context: &Context, verb: Conversation) -> Result<u8, Failure> {
    let out = Printer::new();
    let which = |which: Which| ConversationRef { conversation: which.conversation };
    match verb {
        Conversation::List(List { quiet }) => context.show(&ApiCall::ConversationList(Nothing {}), |reply| {
            if quiet { out.ids(&reply["conversations"], "id") } else { list(&out, reply) }
        }),
        Conversation::Show(id) => context.show(&ApiCall::ConversationShow(which(id)), |reply| {
            let found = &reply["conversation"];
            out.fields(&[
                ("conversation", text(found, "id")),
                ("title", text(found, "title")),
                ("kind", text(found, "kind")),
                ("environment", text(found, "environment")),
                ("chosen by", text(found, "rule")),
                ("session", text(found, "session")),
                ("last active", ago(&found["last_active"])),
                ("ended", ago(&found["ended"])),
            ])?;
            print_turns(&out, found)
        }),
        Conversation::End(id) => {
            let name = output::plain(&id.conversation);
            context.show(&ApiCall::ConversationEnd(which(id)), |_| out.line(&format!("conversation {name} is ended")))
        }
    }
}

fn list(out: &Printer, reply: &Value) -> Result<(), Failure> {
    let rows: Vec<Vec<(String, Style)>> = reply["conversations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|found| {
            let state = match (found["ended"].is_null(), found["open_turn"].is_null()) {
                (false, _) => ("ended".to_owned(), Style::Dim),
                (true, false) => (format!("turn {}", found["turn_count"]), Style::Cyan),
                (true, true) => ("idle".to_owned(), Style::Plain),
            };
            vec![
                (text(found, "id"), Style::Bold),
                state,
                (text(found, "turn_count"), Style::Plain),
                (short(&text(found, "environment")), Style::Dim),
                (ago(&found["last_active"]), Style::Dim),
                (text(found, "title"), Style::Plain),
            ]
        })
        .collect();
    out.table(
        &["CONVERSATION", "STATE", "TURNS", "ENVIRONMENT", "ACTIVE", "TITLE"],
        &rows,
        "no conversations yet: `hermes-tui turn begin --conversation ID` begins one",
    )
}
