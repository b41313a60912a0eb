//! What a program's output may not do.

use crate::support::{NOW, feed, reply, screen, shown};
use hermes_tui::domain::Span;
use hermes_tui::term::guard::{MAX_PAUSE, MAX_TIME};
use hermes_tui::term::{PromptMark, ScreenEvent};

#[test]
fn a_control_string_that_never_ends_takes_no_memory_and_is_dropped_whole() {
    for introducer in ["\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"] {
        let mut screen = screen(4, 20);
        feed(&mut screen, introducer);
        let before = screen.memory_bytes();
        let chunk = vec![b'a'; 1 << 20];
        for _ in 0..64 {
            assert!(!screen.feed(NOW, &chunk).changed);
        }
        assert!(screen.memory_bytes() <= before + 4096);
        feed(&mut screen, "\x1b\\ok");
        assert_eq!(screen.text(), "ok");
        assert_eq!(screen.title(), "");
        assert_eq!(screen.blocked().strings, 1);
    }
}

#[test]
fn a_program_that_dies_within_a_string_does_not_take_along_what_the_next_one_prints() {
    for introducer in ["\x1b]0;half", "\x1bPq", "\x1b_G", "\x1b^", "\x1bX", "\x1b]52;c;aGVs"] {
        let mut screen = screen(4, 20);
        screen.feed(NOW, introducer.as_bytes());
        // In time it is the same string, whatever was between.
        screen.feed(NOW + MAX_PAUSE, b"lost");
        screen.flush_sync(NOW + MAX_PAUSE + MAX_PAUSE);
        assert_eq!(screen.text(), "", "{introducer:?}");
        let late = NOW + MAX_PAUSE + MAX_PAUSE + Span(1);
        let fed = screen.feed(late, "$ ls é\x07".as_bytes());
        assert_eq!(screen.text(), "$ ls é", "{introducer:?}");
        assert!(!fed.events.iter().any(|e| matches!(e, ScreenEvent::Title(_) | ScreenEvent::Clipboard(_))));
        assert_eq!((screen.title(), screen.blocked().strings), ("", 1), "{introducer:?}");
    }
}

#[test]
fn a_string_that_comes_slowly_is_whole_and_one_that_drips_for_ever_ends() {
    let mut slow = screen(4, 40);
    let parts = ["\x1b]0;a sl", "ow ", "tit", "le\x07", "text"];
    for (n, part) in parts.iter().enumerate() {
        slow.feed(NOW + Span(MAX_PAUSE.0 * n as u64), part.as_bytes());
    }
    assert_eq!((slow.title(), slow.text().as_str()), ("a slow title", "text"));
    assert_eq!(slow.blocked().strings, 0);

    let mut drips = screen(4, 40);
    drips.feed(NOW, b"\x1b]0;");
    for n in 1..=MAX_TIME.0 / 1000 {
        drips.feed(NOW + Span::seconds(n), b"x");
        assert_eq!(drips.text(), "");
    }
    drips.feed(NOW + MAX_TIME + Span(1), b"seen");
    assert_eq!((drips.text().as_str(), drips.blocked().strings), ("seen", 1));
    // The next string has all of its time.
    drips.feed(NOW + MAX_TIME + MAX_TIME, b"\x1b]0;t");
    drips.feed(NOW + MAX_TIME + MAX_TIME + MAX_PAUSE, b"\x07");
    assert_eq!(drips.title(), "t");
}

#[test]
fn the_clipboard_is_never_read_and_a_write_is_only_a_request() {
    let mut screen = screen(4, 20);
    for query in ["\x1b]52;c;?\x07", "\x1b]52;\r\nrm -rf\r;?\x07", "\x1b]52;p;?\x1b\\"] {
        let fed = feed(&mut screen, query);
        assert_eq!((fed.reply, fed.events), (Vec::new(), Vec::new()), "{query:?}");
    }
    assert_eq!(screen.blocked().clipboard_reads, 3);
    let fed = feed(&mut screen, "\x1b]52;c;aGVsbG8g4oKs\x07");
    assert_eq!(fed.events, [ScreenEvent::Clipboard("hello €".into())]);
    assert!(fed.reply.is_empty());
    for malformed in ["\x1b]52;c;a\x07", "\x1b]52;c;!!!!\x07", "\x1b]52;c\x07", "\x1b]52;c;\x07", "\x1b]52;c;/w==\x07"]
    {
        assert_eq!(feed(&mut screen, malformed).events, [], "{malformed:?}");
    }
    assert_eq!(screen.blocked().clipboard_writes, 5);
}

#[test]
fn titles_are_cleaned_bounded_and_never_sent_back() {
    let mut screen = screen(4, 20);
    let fed = feed(&mut screen, "\x1b]0;rm -rf\r\n \u{202e}\u{61c}evil\u{9b}31m\x07");
    assert_eq!(fed.events, [ScreenEvent::Title("rm -rf evil31m".into())]);
    assert_eq!(screen.title(), "rm -rf evil31m");
    assert_eq!(reply(&mut screen, "\x1b]0;cmd\x07\x1b[21t\x1b[20t"), "");
    assert_eq!(screen.title(), "cmd");
    feed(&mut screen, &format!("\x1b]2;{}\x07", "é".repeat(5000)));
    assert_eq!(screen.title().chars().count(), 256);
    feed(&mut screen, "\x1b]2;outer\x07\x1b[22t\x1b]2;inner\x07\x1b[23t");
    assert_eq!(screen.title(), "outer");
    feed(&mut screen, &"\x1b[22t".repeat(10_000));
    assert_eq!(feed(&mut screen, "\x1b]2;outer\x07").events, [], "the same title is no news");
}

#[test]
fn nothing_that_a_program_sent_comes_back_to_it() {
    let mut screen = screen(4, 20);
    screen.set_theme((0, 0, 0), (1, 1, 1));
    for attack in [
        "\x1bP$qINJECT\x1b\\",
        "\x1bP+q494e4a454354\x1b\\",
        "\x1b]4;1;INJECT?\x07",
        "\x1b]10;INJECT\x07\x1b]11;INJECT?\x07",
        "\x1b]INJECT;?\x07",
        "\x1b_Gi=31,s=1,v=1,a=q,t=d;INJECT\x1b\\",
        "\x1b]50;?INJECT\x07",
        "\x1b]1337;ReportVariable=SU5KRUNU\x07",
        "\x05\x1bZ",
    ] {
        let answer = reply(&mut screen, attack);
        assert!(!answer.contains("INJ") && !answer.contains('\r') && !answer.contains('\n'), "{attack:?}: {answer:?}");
    }
    for (query, answer) in [
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[18t", "\x1b[8;4;20t"),
        ("\x1b[?2004$p", "\x1b[?2004;2$y"),
    ] {
        assert_eq!(reply(&mut screen, query), answer);
    }
}

#[test]
fn answers_to_a_flood_of_queries_are_bounded() {
    let mut screen = screen(4, 20);
    let fed = feed(&mut screen, &"\x1b[6n".repeat(100_000));
    assert!(fed.reply.len() <= 16 * 1024);
    assert!(screen.blocked().reply_bytes > 0);
}

#[test]
fn an_introducer_hidden_behind_control_characters_is_still_guarded() {
    let mut screen = screen(4, 20);
    // The parser carries out the backspace and still waits for the rest of the escape.
    feed(&mut screen, "\x1b\x08]52;c;?\x07\x1b\x1b]0;t\x07\x1b\x7f]2;u\x07");
    assert_eq!(screen.blocked().clipboard_reads, 1);
    assert_eq!(screen.title(), "u");
    // An intermediate makes it another escape, and what follows is text.
    feed(&mut screen, "\x1b ]text");
    assert_eq!(screen.text(), "text");
}

#[test]
fn a_string_ends_at_its_terminator_and_nothing_after_it_is_lost() {
    for (output, text) in [
        ("a\x1b]0;t\x07b", "ab"),
        ("a\x1b]0;t\x1b\\b", "ab"),
        ("a\x1bPxyz\x07still\x1b\\b", "ab"),
        ("a\x1b]0;t\x18b", "ab"),
        ("a\x1b]0;t\x1b[31mb", "ab"),
        ("a\x1b]0;t\x1b]0;u\x07b", "ab"),
        ("a\x1b[3\x1b]0;t\x07b", "ab"),
        ("a\x1b]8;;http://x\x07b\x1b]8;;\x07", "ab"),
    ] {
        for split in 0..output.len() {
            let mut screen = screen(2, 20);
            screen.feed(NOW, &output.as_bytes()[..split]);
            screen.feed(NOW, &output.as_bytes()[split..]);
            assert_eq!(screen.text(), text, "{output:?} split at {split}");
        }
    }
}

#[test]
fn hyperlinks_are_kept_up_to_a_bound() {
    let mut screen = screen(4, 20);
    feed(&mut screen, "\x1b]8;id=1;https://example.org/a;b\x07link\x1b]8;;\x07 text");
    let mut links = Vec::new();
    screen.view().for_each_in_row(0, |_, cell| links.push(cell.link.map(str::to_owned)));
    assert_eq!(links[0].as_deref(), Some("https://example.org/a;b"));
    assert_eq!(links[4], None);
    feed(&mut screen, &format!("\r\n\x1b]8;;https://e/1\x07a\x1b]8;;https://e/{}\x07b", "x".repeat(4000)));
    links.clear();
    screen.view().for_each_in_row(1, |_, cell| links.push(cell.link.map(str::to_owned)));
    assert_eq!((links[0].as_deref(), links[1].as_deref()), (Some("https://e/1"), None));
    assert_eq!(screen.blocked().links, 1);
    let flood: String = (0..100_000).map(|n| format!("\x1b]8;;https://e/{n}\x07x")).collect();
    feed(&mut screen, &flood);
    assert!(screen.blocked().links > 50_000);
    assert!(screen.memory_bytes() < 64 << 20);
}

#[test]
fn directories_prompts_notifications_and_bells_are_reported() {
    let mut screen = screen(4, 20);
    let fed = feed(
        &mut screen,
        "\x1b]7;file://host/home/me%20too\x07\x1b]7;http://x\x07\x1b]7;file://h/a%0ab\x07\x07\x07\
         \x1b]133;A\x07\x1b]133;B\x07\x1b]133;C\x07\x1b]133;D;130\x07\x1b]133;D\x07\x1b]133;Z\x07\
         \x1b]9;done\x07\x1b]9;4;1;50\x07\x1b]777;notify;build;ok\x07",
    );
    assert_eq!(
        fed.events,
        [
            ScreenEvent::Cwd("/home/me too".into()),
            ScreenEvent::Prompt(PromptMark::Prompt),
            ScreenEvent::Prompt(PromptMark::Input),
            ScreenEvent::Prompt(PromptMark::Output),
            ScreenEvent::Prompt(PromptMark::Done(Some(130))),
            ScreenEvent::Prompt(PromptMark::Done(None)),
            ScreenEvent::Notification("done".into()),
            ScreenEvent::Notification("build: ok".into()),
            ScreenEvent::Bell,
        ]
    );
}

#[test]
fn a_flood_of_requests_is_bounded() {
    let mut screen = screen(4, 20);
    let titles: String = (0..5000).map(|n| format!("\x1b]0;{n}\x07")).collect();
    assert_eq!(feed(&mut screen, &titles).events, [ScreenEvent::Title("4999".into())]);
    assert!(feed(&mut screen, &"\x1b]9;hello\x07".repeat(5000)).events.len() <= 1024);
}

#[test]
fn a_screen_can_move_to_another_thread() {
    fn assert_send<T: Send>(_: &T) {}
    assert_send(&screen(2, 2));
}

#[test]
fn a_repetition_costs_no_more_than_the_screen_holds() {
    let mut screen = screen(4, 10);
    feed(&mut screen, "a\x1b[65535b");
    assert!(screen.history_len() <= 1, "{} lines", screen.history_len());
    assert_eq!(shown(&screen)[0], "aaaaaaaaaa");
    feed(&mut screen, "\x1bcb\x1b[4b");
    assert_eq!(shown(&screen)[0], "bbbbb");
}
