//! How things look: themes, roles, and the glyphs of a terminal with or without Unicode.

use super::colour::{self, ColourDepth};
use ratatui::style::{Color, Modifier, Style as Ink};

/// The look for one client: a theme at a colour depth, with the glyphs its terminal can show.
#[derive(Clone, PartialEq, Debug)]
pub struct Style {
    /// Colours of programs in panes are brought down to this.
    pub depth: ColourDepth,
    /// Whether box drawing and other Unicode can be shown; else everything is ASCII.
    pub unicode: bool,
    /// Whether the roles carry no colour, so that focus and selection must show by shape.
    pub(super) mono: bool,
    pub(super) ink: Roles,
    pub(super) glyph: &'static Glyphs,
}

impl Style {
    /// A look from a theme, for a terminal.  Without colours the theme is `mono`.
    #[must_use]
    pub fn new(theme: &Theme, depth: ColourDepth, unicode: bool) -> Self {
        let mono = Theme::mono();
        let theme = if depth == ColourDepth::None { &mono } else { theme };
        let ink = theme.at(depth);
        let glyph = if unicode { &UNICODE } else { &ASCII };
        let mono = [ink.focus, ink.border, ink.danger].iter().all(|i| matches!(i.fg, None | Some(Color::Reset)));
        Self { depth, unicode, mono, ink, glyph }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::new(&Theme::dark(), ColourDepth::True, true)
    }
}

macro_rules! roles {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {
        /// One style for each role.
        #[derive(Clone, Copy, PartialEq, Debug, Default)]
        pub(super) struct Roles { $($(#[$meta])* pub(super) $name: Ink),+ }

        /// Each role's look: first for 256 and more colours, second for 16.
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct Theme { $($name: (Ink, Ink)),+ }

        impl Theme {
            /// Reads a theme. Roles that it does not name look like plain text.
            ///
            /// # Errors
            /// One sentence: an unknown role, a value that is no text, or a word that is neither a colour nor an attribute.
            pub fn parse(text: &str) -> Result<Self, String> {
                let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
                let mut theme = Self::default();
                for (role, value) in &table {
                    let value = value.as_str().ok_or_else(|| format!("`{role}` must be a text"))?;
                    let look = parse_look(value).map_err(|word| {
                        format!("`{role}`: `{word}` is neither a colour nor an attribute; \
                                 write for example \"#6cb6ff bold | bright-blue\"")
                    })?;
                    match role.as_str() {
                        $(stringify!($name) => theme.$name = look,)+
                        _ => return Err(format!("unknown role `{role}`; roles are {}", [$(stringify!($name)),+].join(", "))),
                    }
                }
                Ok(theme)
            }

            fn at(&self, depth: ColourDepth) -> Roles {
                let pick = |(many, few): (Ink, Ink)| reduce(if depth <= ColourDepth::Ansi16 { few } else { many }, depth);
                Roles { $($name: pick(self.$name)),+ }
            }
        }
    };
}

roles! {
    /// Plain text.
    text,
    /// Text that matters more.
    strong,
    /// Text that matters less.
    dim,
    /// Lines between things.
    border,
    /// The one accent: keys, the current thing.
    accent,
    /// The border of what has the focus.
    focus,
    /// Good: ready, succeeded.
    ok,
    /// Being worked on.
    busy,
    /// Look at it.
    warn,
    /// Bad: failed, lost, will be lost.
    danger,
    /// Must not be overlooked: not isolated.
    alarm,
    /// The badge P.
    persistent,
    /// The badge E.
    ephemeral,
    /// The selected row.
    selected,
    /// What was searched for.
    found,
    /// The match that the cursor went to.
    found_here,
    /// The mode badge of NAV.
    badge,
    /// The mode badge of PANE.
    quiet,
    /// The mode badge while the leader waits.
    leader,
    /// A passing message.
    toast,
}

impl Theme {
    /// The theme for dark backgrounds.
    #[must_use]
    pub fn dark() -> Self {
        Self::builtin(include_str!("../../assets/themes/dark.toml"))
    }

    /// The theme for light backgrounds.
    #[must_use]
    pub fn light() -> Self {
        Self::builtin(include_str!("../../assets/themes/light.toml"))
    }

    /// The theme without colours.
    #[must_use]
    pub fn mono() -> Self {
        Self::builtin(include_str!("../../assets/themes/mono.toml"))
    }

    /// A theme that comes with the program: `dark`, `light` or `mono`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::dark()),
            "light" => Some(Self::light()),
            "mono" => Some(Self::mono()),
            _ => None,
        }
    }

    /// A test reads all of these files, so the fallback is never seen.
    fn builtin(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }
}

fn reduce(ink: Ink, depth: ColourDepth) -> Ink {
    Ink { fg: ink.fg.map(|c| depth.reduce(c)), bg: ink.bg.map(|c| depth.reduce(c)), ..ink }
}

/// `FG [on BG] [ATTRIBUTES] | …for 16 colours`; the error is the word not understood.
fn parse_look(text: &str) -> Result<(Ink, Ink), &str> {
    match text.split_once('|') {
        Some((many, few)) => Ok((parse_ink(many)?, parse_ink(few)?)),
        None => parse_ink(text).map(|ink| (ink, ink)),
    }
}

fn parse_ink(text: &str) -> Result<Ink, &str> {
    let mut ink = Ink::new();
    let mut on = false;
    for word in text.split_whitespace() {
        let attribute = match word {
            "on" => {
                on = true;
                continue;
            }
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underline" => Modifier::UNDERLINED,
            "reverse" => Modifier::REVERSED,
            _ => {
                let colour = colour::parse(word).ok_or(word)?;
                ink = if on { ink.bg(colour) } else { ink.fg(colour) };
                continue;
            }
        };
        ink = ink.add_modifier(attribute);
    }
    Ok(ink)
}

/// The signs in use. None of them has an emoji form, so that no terminal shows one in two columns.
#[derive(PartialEq, Debug)]
pub(super) struct Glyphs {
    pub ready: &'static str,
    pub working: [&'static str; 4],
    pub stopped: &'static str,
    pub lost: &'static str,
    pub absent: &'static str,
    pub running: &'static str,
    pub done: &'static str,
    pub failed: &'static str,
    pub cut: &'static str,
    pub open: &'static str,
    pub closed: &'static str,
    pub active: &'static str,
    pub ellipsis: &'static str,
    pub dot: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub before: &'static str,
    pub after: &'static str,
    pub prompt: &'static str,
    pub gutter: &'static str,
    pub gutter_error: &'static str,
    pub rule: &'static str,
    pub times: &'static str,
    pub activity: &'static str,
    pub info: &'static str,
    pub warning: &'static str,
    pub bar_full: &'static str,
    pub bar_half: &'static str,
}

static UNICODE: Glyphs = Glyphs {
    ready: "●",
    working: ["◐", "◓", "◑", "◒"],
    stopped: "○",
    lost: "✕",
    absent: "◌",
    running: "▸",
    done: "✓",
    failed: "✗",
    cut: "◇",
    open: "▾",
    closed: "▸",
    active: "▌",
    ellipsis: "…",
    dot: "·",
    up: "↑",
    down: "↓",
    before: "‹",
    after: "›",
    prompt: "›",
    gutter: "│",
    gutter_error: "┆",
    rule: "─",
    times: "×",
    activity: "•",
    info: "·",
    warning: "!",
    bar_full: "▂",
    bar_half: "▁",
};

static ASCII: Glyphs = Glyphs {
    ready: "*",
    working: ["|", "/", "-", "\\"],
    stopped: "o",
    lost: "X",
    absent: ".",
    running: ">",
    done: "+",
    failed: "x",
    cut: "~",
    open: "v",
    closed: ">",
    active: ">",
    ellipsis: "~",
    dot: "-",
    up: "^",
    down: "v",
    before: "<",
    after: ">",
    prompt: ">",
    gutter: "|",
    gutter_error: "!",
    rule: "-",
    times: "x",
    activity: "#",
    info: "-",
    warning: "!",
    bar_full: "=",
    bar_half: "-",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_themes_that_come_along_are_whole() {
        for text in [
            include_str!("../../assets/themes/dark.toml"),
            include_str!("../../assets/themes/light.toml"),
            include_str!("../../assets/themes/mono.toml"),
        ] {
            let theme = Theme::parse(text).expect("parses");
            assert_ne!(theme, Theme::default());
            let roles = text.lines().filter(|l| l.contains(" = \"") && !l.starts_with('#')).count();
            assert_eq!(roles, 20);
        }
    }

    #[test]
    fn a_wrong_theme_says_what_is_wrong() {
        assert!(Theme::parse("accnt = \"red\"").expect_err("unknown role").contains("unknown role `accnt`"));
        assert!(Theme::parse("accent = \"redd\"").expect_err("unknown colour").contains("`redd`"));
        assert!(Theme::parse("accent = 3").expect_err("no text").contains("must be a text"));
    }

    #[test]
    fn without_colours_no_role_has_one() {
        let style = Style::new(&Theme::dark(), ColourDepth::None, true);
        assert!(style.mono);
        assert_eq!(style.ink.danger.fg, Some(Color::Reset));
        assert!(style.ink.selected.add_modifier.contains(Modifier::REVERSED));
    }
}
