//! What is wrong in a configuration text, and where: line, column, key, and the name that may have been meant.

use super::settings::{ConfigError, Fault, load};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A fault with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The key, for example `history.linse`.
    pub key: String,
    /// What is wrong with it, one sentence.
    pub message: String,
    /// The name that may have been meant.
    pub nearest: Option<String>,
    /// Where the key begins, in bytes; `None` where it could not be found again.
    pub at: Option<usize>,
}

/// Everything in a text that is not taken as it stands there. `more` finds what the table of settings does not know of.
///
/// # Errors
/// The text is not TOML.
pub fn check(text: &str, more: impl FnOnce(&super::Options) -> Vec<Fault>) -> Result<Vec<Problem>, ConfigError> {
    let loaded = load(text)?;
    let faults = loaded.faults.into_iter().chain(more(&loaded.options));
    let table = DeTable::parse(text).ok();
    let mut all: Vec<Problem> = faults
        .map(|fault| Problem {
            at: table.as_ref().and_then(|table| place(table.get_ref(), &fault.path)).map(|place| place.start),
            key: fault.path.join("."),
            message: fault.says,
            nearest: fault.nearest,
        })
        .collect();
    all.sort_by_key(|problem| problem.at);
    Ok(all)
}

/// Where the key at the end of a path stands; of what is above it, where that is all that is there.
fn place(table: &DeTable<'_>, path: &[String]) -> Option<Range<usize>> {
    let (first, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == first.as_str())?;
    match value.get_ref() {
        DeValue::Table(inner) if !rest.is_empty() => place(inner, rest).or_else(|| Some(key.span())),
        DeValue::Array(list) => in_list(list, rest).or_else(|| Some(key.span())),
        _ => Some(key.span()),
    }
}

/// The same below a number from 1.
fn in_list(list: &[Spanned<DeValue<'_>>], path: &[String]) -> Option<Range<usize>> {
    let (number, rest) = path.split_first()?;
    let value = list.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
    match value.get_ref() {
        DeValue::Table(inner) if !rest.is_empty() => place(inner, rest).or_else(|| Some(value.span())),
        _ => Some(value.span()),
    }
}
