//! A question with consequences: what is lost, what survives, the safe choice first.

use super::canvas::Canvas;
use super::popup::{self, Parts};
use super::text;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// What a dialog says.
pub(super) struct Dialog<'a> {
    pub(super) title: &'a str,
    pub(super) lost: &'a [String],
    pub(super) kept: &'a [String],
    pub(super) text: &'a [String],
    pub(super) choices: &'a [(String, String)],
    pub(super) selected: usize,
    pub(super) danger: Option<usize>,
}

/// How closely a dialog is set, from airy to dense.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// Headings and empty lines, in a frame.
    Airy,
    /// No empty lines, headings in the items' lines, in a frame.
    Dense,
    /// The same without a frame, over the whole screen.
    Bare,
}

/// Draws it in the middle, set as closely as the screen demands. Choices are always in sight; should text still have
/// no room, the dialog says so.
pub(super) fn draw(canvas: &mut Canvas<'_>, dialog: &Dialog<'_>) {
    let screen = canvas.screen();
    let look = if dialog.danger.is_some() { canvas.ink().danger } else { canvas.ink().accent };
    let width = popup::centred(screen, 64, 5).width;
    let framed = popup::inner(Rect::new(0, 0, width, 100)).width;
    let room = popup::free(screen).height.saturating_sub(2);
    for setting in [Setting::Airy, Setting::Dense] {
        let lines = body(canvas, dialog, framed, setting);
        let rows = choice_rows(canvas, dialog.choices, framed);
        let gap = usize::from(setting == Setting::Airy && !lines.is_empty());
        let wanted = lines.len() + gap + rows.len();
        if wanted <= usize::from(room) {
            let outer = popup::centred(screen, 64, u16::try_from(wanted).unwrap_or(room).saturating_add(2));
            let inner = popup::open(canvas, outer, dialog.title, look);
            fill(canvas, dialog, inner, &lines, &rows);
            return;
        }
    }
    let text = canvas.ink().text;
    canvas.clear(screen, text);
    let mut lines = vec![vec![(dialog.title.to_owned(), look.add_modifier(Modifier::BOLD))]];
    lines.extend(body(canvas, dialog, screen.width, Setting::Bare));
    let rows = choice_rows(canvas, dialog.choices, screen.width);
    fill(canvas, dialog, screen, &lines, &rows);
}

fn fill(canvas: &mut Canvas<'_>, dialog: &Dialog<'_>, area: Rect, lines: &[Parts], rows: &[Vec<usize>]) {
    let below = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(area.height);
    let above = area.height - below;
    let fits = lines.len() <= usize::from(above);
    let shown = if fits { lines.len() } else { usize::from(above).saturating_sub(1) };
    for (line, y) in lines.iter().take(shown).zip(area.y..) {
        popup::parts(canvas, area.x, y, area.width, line);
    }
    if !fits && above > 0 {
        let ink = canvas.ink().warn;
        let more = format!("{} more lines: enlarge the window", lines.len() - shown);
        canvas.fit(area.x, area.y + above - 1, area.width, &more, ink);
    }
    for (row, y) in rows.iter().zip(area.bottom() - below..) {
        let mut x = area.x;
        for &i in row {
            x += choice(canvas, dialog, i, x, y, area.right().saturating_sub(x)) + 2;
        }
    }
}

fn body(canvas: &Canvas<'_>, dialog: &Dialog<'_>, width: u16, setting: Setting) -> Vec<Parts> {
    let (ink, glyph, unicode) = (canvas.ink(), canvas.glyph(), canvas.style.unicode);
    let airy = setting == Setting::Airy;
    let mut lines: Vec<Parts> = Vec::new();
    for paragraph in dialog.text {
        lines.extend(text::wrap(paragraph, width, unicode).into_iter().map(|line| vec![(line, ink.text)]));
    }
    let kept = if airy { "survives" } else { "kept" };
    for (title, sign, look, items) in
        [("lost", glyph.lost, ink.danger, dialog.lost), (kept, glyph.done, ink.ok, dialog.kept)]
    {
        if items.is_empty() {
            continue;
        }
        if airy && !lines.is_empty() {
            lines.push(Vec::new());
        }
        if airy {
            lines.push(vec![(title.to_owned(), look.add_modifier(Modifier::BOLD))]);
        }
        for item in items {
            let head = if airy { format!("  {sign} ") } else { format!("{sign} {title} ") };
            let indent = canvas.width(&head);
            for (i, part) in text::wrap(item, width.saturating_sub(indent), unicode).into_iter().enumerate() {
                let head = if i == 0 { head.clone() } else { " ".repeat(usize::from(indent)) };
                lines.push(vec![(head, look), (part, ink.text)]);
            }
        }
    }
    lines
}

/// Which choices stand in which line: as many in each as fit.
fn choice_rows(canvas: &Canvas<'_>, choices: &[(String, String)], width: u16) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for (i, choice) in choices.iter().enumerate() {
        let needs = choice_width(canvas, choice);
        match rows.last_mut() {
            Some(row) if used + 2 + needs <= width => {
                row.push(i);
                used += 2 + needs;
            }
            _ => {
                rows.push(vec![i]);
                used = needs;
            }
        }
    }
    rows
}

fn choice_width(canvas: &Canvas<'_>, (key, label): &(String, String)) -> u16 {
    canvas.width(key) + canvas.width(label) + 5
}

fn choice(canvas: &mut Canvas<'_>, dialog: &Dialog<'_>, i: usize, x: u16, y: u16, max: u16) -> u16 {
    let Some((key, label)) = dialog.choices.get(i) else { return 0 };
    let ink = *canvas.ink();
    let dangerous = dialog.danger == Some(i);
    let (key_look, look): (Ink, Ink) = match (dialog.selected == i, dangerous) {
        (true, true) => (ink.alarm, ink.alarm),
        (true, false) => (ink.badge, ink.badge),
        (false, true) => (ink.danger, ink.danger),
        (false, false) => (ink.accent, ink.text),
    };
    let line = vec![(format!(" [{key}]"), key_look), (format!(" {label} "), look)];
    popup::parts(canvas, x, y, max, &line)
}
