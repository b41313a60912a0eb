//! Any view model at any size: drawing must survive it, keep inside, and leave a buffer that no terminal can shift.

use crate::drawn;
use hermes_tui::app::view_model::*;
use hermes_tui::domain::{Moment, Phase, SessionId, Size, TurnStatus, VerdictKind};
use hermes_tui::term::{Match, Pos, Screen, Selection, SelectionKind};
use hermes_tui::ui::{ColourDepth, Style, Theme, cursor};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Color;

/// Text as hostile as a sandbox can make it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,12}",
        2 => "[a-z日本語한글é👩🏽‍💻🇩🇪❤️\u{200d}\u{fe0f}\u{301}\u{202e}\u{ff9e}ａ]{0,20}",
        1 => "\\PC{0,10}",
        1 => any::<String>().prop_map(|s| s.chars().take(20).collect()),
        1 => "[a-z ]{100,400}",
        1 => "(\u{1b}\\[(38;2;10;200;90|48;5;120|31|7|1;4|9)m[a-z日]{0,4}){0,4}",
        1 => Just("\u{1b}[31m\r\n\t\u{7}\u{9b}5n".to_owned()),
    ]
}

fn area() -> impl Strategy<Value = Area> {
    let side = || prop_oneof![20 => 0u16..130, 1 => any::<u16>()];
    (side(), side(), side(), side()).prop_map(|(x, y, width, height)| Area { x, y, width, height })
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..30)
}

fn phase() -> impl Strategy<Value = Phase> {
    use Phase::*;
    prop::sample::select(vec![Absent, Provisioning, Ready, Reaping, Stopped, Lost, Failed])
}

fn status() -> impl Strategy<Value = TurnStatus> {
    use TurnStatus::*;
    prop::sample::select(vec![Running, Done, Failed, Interrupted])
}

fn level() -> impl Strategy<Value = Level> {
    prop::sample::select(vec![Level::Info, Level::Success, Level::Warning, Level::Error])
}

fn row() -> impl Strategy<Value = SidebarRow> {
    let state = prop_oneof![
        any::<u32>().prop_map(|number| RowState::Turn { number }),
        any::<usize>().prop_map(RowState::Held),
        (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(left_ms, total_ms, warned)| RowState::Countdown {
            left_ms,
            total_ms,
            warned
        }),
        text().prop_map(RowState::Word),
    ];
    let env = (text(), phase(), any::<Option<bool>>(), any::<[bool; 4]>(), any::<usize>(), state).prop_map(
        |(name, phase, persistent, [active, pinned, on_host, host_network], shared_by, state)| {
            let env = EnvRow { name, phase, persistent, active, pinned, on_host, host_network, shared_by, state };
            SidebarRow::Environment(env)
        },
    );
    prop_oneof![
        4 => env,
        1 => (text(), any::<bool>(), option::of(text()))
            .prop_map(|(title, folded, trouble)| SidebarRow::Group { title, folded, trouble }),
        1 => (text(), text()).prop_map(|(label, value)| SidebarRow::Detail { label, value }),
    ]
}

/// Parts of a sidebar, which itself cannot be printed.
type SidebarParts = (Area, [bool; 2], Vec<SidebarRow>, Option<usize>, (usize, usize), Option<(String, usize)>);

fn sidebar() -> impl Strategy<Value = SidebarParts> {
    let filter = option::of((text(), any::<usize>()));
    (area(), any::<[bool; 2]>(), vec(row(), 0..40), option::of(0usize..50), any::<(usize, usize)>(), filter)
}

fn feed_line() -> impl Strategy<Value = FeedLine> {
    prop_oneof![
        (any::<u32>(), text(), status(), any::<u64>(), any::<bool>()).prop_map(
            |(number, prompt, status, took_ms, selected)| FeedLine::Turn { number, prompt, status, took_ms, selected }
        ),
        Just(FeedLine::Outside),
        (text(), any::<Option<i32>>(), any::<(bool, u32)>(), option::of(text()), any::<u64>(), any::<[bool; 2]>())
            .prop_map(|(command, exit_code, (running, count), cwd, took_ms, [selected, of_selected])| {
                FeedLine::Command { command, exit_code, running, count, cwd, took_ms, selected, of_selected }
            }),
        (text(), any::<bool>()).prop_map(|(text, error)| FeedLine::Output { text, error }),
        text().prop_map(FeedLine::Remark),
    ]
}

/// What a pane holds, without the screen that it borrows.
#[derive(Clone, Debug)]
enum Inside {
    Terminal { offset: usize, selection: Option<Selection>, dim: bool, copy_cursor: Option<(u16, u16)> },
    Waiting(String),
    Feed(Vec<FeedLine>),
}

#[derive(Clone, Debug)]
struct AnyPane {
    area: Area,
    inner: Area,
    flags: [bool; 3],
    title: String,
    agent: Option<AgentMark>,
    marks: Vec<String>,
    link: Option<String>,
    banner: Option<(String, Level)>,
    inside: Inside,
    found: (Vec<Match>, Option<Pos>),
}

fn any_pane() -> impl Strategy<Value = AnyPane> {
    let kind = prop::sample::select(vec![SelectionKind::Character, SelectionKind::Line, SelectionKind::Block]);
    let pos = || (0u64..60, 0u16..130).prop_map(|(line, col)| Pos { line, col });
    let selection =
        (kind, pos(), pos(), 0u64..2).prop_map(|(kind, anchor, head, epoch)| Selection { kind, anchor, head, epoch });
    let terminal = (0usize..40, option::of(selection), any::<bool>(), option::of((0u16..130, 0u16..130)))
        .prop_map(|(offset, selection, dim, copy_cursor)| Inside::Terminal { offset, selection, dim, copy_cursor });
    let inside = prop_oneof![
        3 => terminal,
        1 => text().prop_map(Inside::Waiting),
        2 => vec(feed_line(), 0..30).prop_map(Inside::Feed),
    ];
    // Mostly as app makes it, sometimes anything.
    let areas = prop_oneof![4 => area().prop_map(|a| (a, crate::inner_of(a))), 1 => (area(), area())];
    let banner = option::of((text(), level()));
    let agent = prop_oneof![
        text().prop_map(AgentMark::Runs),
        (text(), 0usize..3).prop_map(|(key, waiting)| AgentMark::Taken { key, waiting }),
    ];
    let link = option::of(text().prop_map(|text| hermes_tui::term::link::address(&text)));
    let one = (pos(), pos()).prop_map(|(start, end)| Match { start, end });
    let found = (vec(one, 0..5), option::of(pos()));
    (areas, any::<[bool; 3]>(), text(), option::of(agent), vec(text(), 0..4), (link, banner), (inside, found)).prop_map(
        |((area, inner), flags, title, agent, marks, (link, banner), (inside, found))| AnyPane {
            link,
            agent,
            area,
            inner,
            flags,
            title,
            marks,
            banner,
            inside,
            found,
        },
    )
}

fn overlay() -> impl Strategy<Value = Overlay> {
    let sections = vec((text(), pairs()), 0..5);
    let rows = vec((text(), text(), any::<bool>()), 0..40);
    let texts = || vec(text(), 0..8);
    let turn_row = (0u8..9, status(), text(), text()).prop_map(|(depth, status, text, right)| TurnRow {
        depth,
        status,
        text,
        right,
    });
    use VerdictKind::*;
    let verdict = prop::sample::select(vec![Held, Keep, Warn, Reap, NotOurs, Frozen, AtRest]);
    prop_oneof![
        pairs().prop_map(Overlay::WhichKey),
        (sections, any::<usize>()).prop_map(|(sections, scroll)| Overlay::Help { sections, scroll }),
        (text(), text(), any::<u16>(), rows, any::<usize>()).prop_map(|(title, input, cursor, rows, selected)| {
            Overlay::Palette { title, input, cursor, rows, selected }
        }),
        (text(), texts(), texts(), texts(), pairs(), any::<usize>(), option::of(0usize..4)).prop_map(
            |(title, lost, kept, text, choices, selected, danger)| Overlay::Dialog {
                title,
                lost,
                kept,
                text,
                choices,
                selected,
                danger
            }
        ),
        (text(), text(), any::<u16>(), option::of(text()))
            .prop_map(|(title, input, cursor, problem)| Overlay::Prompt { title, input, cursor, problem }),
        (any::<[bool; 2]>(), text(), any::<u16>(), text(), option::of(text())).prop_map(
            |([down, regex], input, cursor, note, problem)| Overlay::Search {
                down,
                regex,
                input,
                cursor,
                note,
                problem
            }
        ),
        (text(), vec((text(), text(), text()), 0..30), 0usize..40, option::of(any::<u16>()), option::of(text()))
            .prop_map(|(title, fields, selected, cursor, problem)| Overlay::Form {
                title,
                fields,
                selected,
                cursor,
                problem
            }),
        (vec(turn_row, 0..60), any::<usize>(), any::<usize>(), text(), prop_oneof![Just(""), Just("failed")])
            .prop_map(|(rows, selected, scroll, filter, only)| Overlay::Turns { rows, selected, scroll, filter, only }),
        (text(), verdict, text(), pairs(), any::<usize>()).prop_map(|(title, verdict, reason, facts, scroll)| {
            Overlay::Explain { title, verdict, reason, facts, scroll }
        }),
    ]
}

fn tabs() -> impl Strategy<Value = Vec<Tab>> {
    let tab = (any::<usize>(), text(), any::<[bool; 4]>(), any::<Option<u32>>()).prop_map(
        |(number, title, [current, activity, bell, zoomed], turn)| Tab {
            number,
            title,
            current,
            activity,
            bell,
            turn,
            zoomed,
        },
    );
    vec(tab, 0..15)
}

fn style() -> impl Strategy<Value = Style> {
    let theme = prop::sample::select(vec![Theme::dark(), Theme::light(), Theme::mono()]);
    let depth =
        prop::sample::select(vec![ColourDepth::None, ColourDepth::Ansi16, ColourDepth::Ansi256, ColourDepth::True]);
    (theme, depth, any::<bool>()).prop_map(|(theme, depth, unicode)| Style::new(&theme, depth, unicode))
}

/// What every drawn buffer must be like.
fn sound(buf: &Buffer) {
    for y in 0..buf.area.height {
        let mut x = 0;
        while x < buf.area.width {
            let cell = &buf[(x, y)];
            assert!(!cell.symbol().chars().any(char::is_control), "control character at {x},{y}");
            let width = cell.cell_width();
            assert!((1..=2).contains(&width), "{width} columns at {x},{y}: {:?}", cell.symbol());
            if width == 2 {
                assert!(x + 1 < buf.area.width, "{:?} reaches over the edge at {x},{y}", cell.symbol());
                assert_eq!(buf[(x + 1, y)].symbol(), " ", "something is hidden behind {:?}", cell.symbol());
            }
            x += width;
        }
    }
}

/// Whether a terminal of this depth has the colour.
fn shown_at(depth: ColourDepth, colour: Color) -> bool {
    match depth {
        ColourDepth::None => colour == Color::Reset,
        ColourDepth::Ansi16 => !matches!(colour, Color::Rgb(..) | Color::Indexed(_)),
        ColourDepth::Ansi256 => !matches!(colour, Color::Rgb(..)),
        ColourDepth::True => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drawing_survives_anything(
        (cols, rows) in prop_oneof![(1u16..=300, 1u16..=100), (1u16..=44, 1u16..=14)],
        now in any::<u64>(),
        mode in prop::sample::select(vec![Mode::Pane, Mode::Agent, Mode::Nav, Mode::Leader, Mode::Copy, Mode::Overlay]),
        (area, [strip, focused], rows_shown, selected, hidden, filter) in sidebar(),
        (tabs, tabs_area) in (tabs(), area()),
        any_panes in vec(any_pane(), 0..6),
        panes_area in area(),
        (hints, facts, troubles, needs) in (pairs(), vec(text(), 0..5), vec(text(), 0..3), text()),
        overlay in option::of(overlay()),
        notices in vec((text(), level()), 0..6),
        welcome in option::of((vec((text(), text(), any::<bool>()), 0..6), pairs())),
        printed in vec(text(), 0..30),
        screen_size in (1u16..60, 2u16..130),
        style in style(),
    ) {
        let mut screen = Screen::new(Size { rows: screen_size.0, cols: screen_size.1 }, 50);
        screen.feed(Moment(1), printed.join("\r\n").as_bytes());
        let panes = any_panes.into_iter().map(|p| Pane {
            area: p.area,
            inner: p.inner,
            focused: p.flags[0],
            synchronised: p.flags[1],
            on_host: p.flags[2],
            title: p.title,
            agent: p.agent,
            marks: p.marks,
            link: p.link,
            banner: p.banner.map(|(text, level)| Banner { text, level }),
            content: match p.inside {
                Inside::Terminal { offset, selection, dim, copy_cursor } => PaneContent::Terminal {
                    session: SessionId::new("s"), screen: &screen, offset, selection, dim, copy_cursor,
                    found: p.found.0.clone(), here: p.found.1, margin: vec![(3, true), (200, false)],
                },
                Inside::Waiting(text) => PaneContent::Waiting(text),
                Inside::Feed(lines) => PaneContent::Feed(lines),
            },
        }).collect();
        let vm = ViewModel {
            bare: strip && !focused,
            size: Size { rows, cols },
            now: Moment(now),
            mode,
            sidebar: Sidebar { area, strip, focused, rows: rows_shown, selected, hidden, filter },
            tabs,
            tabs_area,
            panes,
            panes_area,
            status: StatusBar { hints, facts, troubles, needs },
            overlay,
            notices: notices.into_iter().map(|(text, level)| Toast { text, level }).collect(),
            welcome: welcome.map(|(found, offers)| Welcome { found, offers }),
        };
        let buf = drawn(&vm, &style);
        sound(&buf);
        prop_assert!(buf.content().iter().all(|cell| shown_at(style.depth, cell.fg) && shown_at(style.depth, cell.bg)));
        if !style.unicode {
            prop_assert!(buf.content().iter().all(|cell| cell.symbol().is_ascii()));
        }
        prop_assert_eq!(&buf, &drawn(&vm, &style), "the same drawing twice is the same");
        if let Some(at) = cursor(Rect::new(0, 0, cols, rows), &vm, &style) {
            prop_assert!(at.x < cols && at.y < rows);
        }
    }
}
