//! Output of the agent's commands is kept as plain text, bounded, with both ends.

use hermes_tui::app::Stream;
use hermes_tui::app::feed::{Feeds, Limits, OutputLine};
use hermes_tui::domain::CallId;
use proptest::prelude::*;

fn lines(chunks: &[&[u8]], limit: usize) -> (Vec<Option<OutputLine>>, usize) {
    let mut feeds = Feeds::default();
    let call = CallId::new("c");
    for chunk in chunks {
        feeds.push(&call, Stream::Out, chunk, Limits { call: limit, all: 64 << 20 });
    }
    let output = feeds.of(&call).expect("output");
    ((0..output.lines()).map(|n| output.line_at(n)).collect(), output.dropped())
}

fn texts(chunks: &[&[u8]]) -> Vec<String> {
    lines(chunks, 1 << 20).0.into_iter().map(|l| l.expect("kept").text).collect()
}

#[test]
fn escapes_and_controls_go_also_when_they_are_cut() {
    assert_eq!(texts(&[b"\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07plain\n"]), ["red", "plain"]);
    assert_eq!(texts(&[b"a\x1b", b"[3", b"1mb\x1b]8;;http", b"://x\x1b", b"\\c\n"]), ["abc"]);
    assert_eq!(texts(&["tab\there\u{7}\n".as_bytes()]), ["tab    here"]);
}

#[test]
fn a_progress_bar_leaves_its_last_state() {
    assert_eq!(texts(&[b"10%\r20%\r", b"30%\ndone\n"]), ["30%", "done"]);
}

#[test]
fn utf_8_may_be_cut_anywhere() {
    let text = "grüße 👋\n".as_bytes();
    for at in 0..text.len() {
        assert_eq!(texts(&[&text[..at], &text[at..]]), ["grüße 👋"]);
    }
}

#[test]
fn the_beginning_and_the_end_are_kept() {
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let (all, dropped) = lines(&[text.as_bytes()], 8192);
    assert_eq!(all.len(), 10_000);
    assert_eq!(all[0].as_ref().map(|l| l.text.as_str()), Some("line 0"));
    assert_eq!(all[9999].as_ref().map(|l| l.text.as_str()), Some("line 9999"));
    assert_eq!(all.iter().filter(|l| l.is_none()).count(), dropped);
    assert!(dropped > 9000);
}

#[test]
fn a_line_without_an_end_is_shown_and_bounded() {
    assert_eq!(texts(&[b"Password: "]), ["Password: "]);
    let (all, _) = lines(&[&[b'x'; 1 << 20]], 8192);
    assert_eq!(all.len(), 1);
    assert!(all[0].as_ref().is_some_and(|l| l.text.len() <= 4096));
}

#[test]
fn all_together_stay_under_their_limit_and_the_oldest_go_first() {
    let mut feeds = Feeds::default();
    let text = "some line of output\n".repeat(100);
    let id = |n: u32| CallId::new(format!("{n}"));
    for n in 0..1000 {
        feeds.push(&id(n), Stream::Out, text.as_bytes(), Limits { call: 1 << 16, all: 1 << 17 });
    }
    assert!(feeds.len() < 60 && feeds.len() > 5, "{}", feeds.len());
    assert!(feeds.of(&id(0)).is_none() && feeds.of(&id(999)).is_some());
    feeds.retain(|call| *call == id(999));
    assert_eq!(feeds.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_clean_lines(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        if chunks.is_empty() {
            return Ok(());
        }
        for line in lines(&chunks, 2048).0.into_iter().flatten() {
            prop_assert!(!line.text.chars().any(char::is_control));
        }
    }
}
