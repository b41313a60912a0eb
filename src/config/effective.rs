//! What each setting is, and who says so: a flag, a variable, the file, or nobody.

use super::rules;
use super::settings::{SETTINGS, Setting, tables, variable_value};
use toml::{Table, Value};

/// Who says what a setting is. A later one wins over an earlier one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// Nobody.
    Default,
    /// The configuration file.
    File,
    /// This variable.
    Variable(String),
    /// This flag.
    Flag(String),
}

/// A setting as it is in force.
#[derive(Clone, PartialEq, Debug)]
pub struct Effective {
    /// Its path, for example `history.lines`.
    pub path: String,
    /// Its value, as the file would have it.
    pub value: Value,
    /// Who says so.
    pub source: Source,
}

/// All settings, in the order of the default file; then the keys, profiles and rules that the file names. A value that cannot
/// be used is passed over, as it is by the host.
#[must_use]
pub fn effective(
    file: &Table,
    variable: &dyn Fn(&str) -> Option<String>,
    flag: &dyn Fn(&str) -> Option<(String, Value)>,
) -> Vec<Effective> {
    let of = |setting: &Setting| {
        let said = |value: &Value| setting.accepts(value).is_ok();
        let (path, name) = (setting.path.to_owned(), setting.variable());
        if let Some((flag, value)) = flag(setting.path) {
            return Effective { path, value, source: Source::Flag(flag) };
        }
        if let Some(value) = variable(&name).map(|written| variable_value(&written)).filter(said) {
            return Effective { path, value, source: Source::Variable(name) };
        }
        match find(file, setting.path).filter(|value| said(value)) {
            Some(value) => Effective { path, value: value.clone(), source: Source::File },
            None => Effective { path, value: variable_value(setting.default), source: Source::Default },
        }
    };
    let named = tables().flat_map(|table| {
        let rows = find(file, table).and_then(Value::as_table).into_iter().flatten();
        rows.map(move |(name, value)| Effective {
            path: format!("{table}.{name}"),
            value: value.clone(),
            source: Source::File,
        })
    });
    let rules = find(file, rules::PATH).and_then(Value::as_array).into_iter().flatten().enumerate();
    let rules = rules.map(|(at, value)| Effective {
        path: format!("{}.{}", rules::PATH, at + 1),
        value: value.clone(),
        source: Source::File,
    });
    SETTINGS.iter().map(of).chain(named).chain(rules).collect()
}

/// What stands at a path like `history.lines`.
fn find<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = table.get(first)?;
    match rest {
        None => Some(value),
        Some(rest) => find(value.as_table()?, rest),
    }
}
