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

/// Draws it in the middle. Choices are always in sight; text that has no room says how much is missing.
pub(super) fn draw(canvas: &mut Canvas<'_>, dialog: &Dialog<'_>) {
    let screen = canvas.screen();
    let width = popup::centred(screen, 64, 5).width;
    let room = popup::inner(Rect::new(0, 0, width, 100)).width;
    let lines = body(canvas, dialog, room);
    let rows = choice_rows(canvas, dialog.choices, room);
    let wanted = lines.len() + usize::from(!lines.is_empty()) + rows.len();
    let height = u16::try_from(wanted).unwrap_or(u16::MAX).saturating_add(2);
    let outer = popup::centred(screen, 64, height);
    let look = if dialog.danger.is_some() { canvas.ink().danger } else { canvas.ink().accent };
    let inner = popup::open(canvas, outer, dialog.title, look);
    if inner.area() == 0 {
        return;
    }
    let below = (rows.len() as u16).min(inner.height);
    // The empty line goes first where lines are few.
    let mut above = inner.height - below;
    if usize::from(above) > lines.len() {
        above -= 1;
    }
    let fits = lines.len() <= usize::from(above);
    let shown = if fits { lines.len() } else { usize::from(above).saturating_sub(1) };
    for (line, y) in lines.iter().take(shown).zip(inner.y..) {
        popup::parts(canvas, inner.x, y, inner.width, line);
    }
    if !fits && above > 0 {
        let ink = canvas.ink().dim;
        let more = format!("{} {} more lines: enlarge the window", canvas.glyph().ellipsis, lines.len() - shown);
        canvas.fit(inner.x, inner.y + above - 1, inner.width, &more, ink);
    }
    for (row, y) in rows.iter().zip(inner.bottom() - below..) {
        let mut x = inner.x;
        for &i in row {
            x += choice(canvas, dialog, i, x, y, inner.right().saturating_sub(x)) + 2;
        }
    }
}

fn body(canvas: &Canvas<'_>, dialog: &Dialog<'_>, width: u16) -> Vec<Parts> {
    let (ink, glyph, unicode) = (canvas.ink(), canvas.glyph(), canvas.style.unicode);
    let mut lines: Vec<Parts> = Vec::new();
    for paragraph in dialog.text {
        lines.extend(text::wrap(paragraph, width, unicode).into_iter().map(|line| vec![(line, ink.text)]));
    }
    for (title, sign, look, items) in
        [("lost", glyph.lost, ink.danger, dialog.lost), ("survives", glyph.done, ink.ok, dialog.kept)]
    {
        if items.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![(title.to_owned(), look.add_modifier(Modifier::BOLD))]);
        for item in items {
            for (i, part) in text::wrap(item, width.saturating_sub(4), unicode).into_iter().enumerate() {
                let sign = if i == 0 { sign } else { " " };
                lines.push(vec![(format!("  {sign} "), look), (part, ink.text)]);
            }
        }
    }
    lines
}

/// Which choices stand in which line: all in one, or one in each.
fn choice_rows(canvas: &Canvas<'_>, choices: &[(String, String)], width: u16) -> Vec<Vec<usize>> {
    let total: u32 = choices.iter().map(|c| u32::from(choice_width(canvas, c)) + 2).sum();
    if total <= u32::from(width) + 2 && !choices.is_empty() {
        vec![(0..choices.len()).collect()]
    } else {
        (0..choices.len()).map(|i| vec![i]).collect()
    }
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
