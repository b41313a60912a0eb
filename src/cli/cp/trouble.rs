//! Why a copy did not come about, with the path that was in the way.

use crate::api::{ApiError, ErrorCode};
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// What failed on this machine.
pub(super) fn here(tried: &str, path: impl Display, error: &io::Error) -> ApiError {
    ApiError::new(
        ErrorCode::Failed,
        format!("cannot {tried} {path}: {error}"),
        hint(&error.to_string(), Some(error.kind())),
    )
}

/// What was said inside the environment.
pub(super) fn inside(tried: &str, said: &str) -> ApiError {
    let said = super::super::output::plain(said.trim());
    let short: String = said.chars().take(400).collect();
    ApiError::new(ErrorCode::Failed, format!("cannot {tried}: {short}"), hint(&said, None))
}

fn hint(said: &str, kind: Option<ErrorKind>) -> &'static str {
    if kind == Some(ErrorKind::StorageFull) || said.contains("No space left") || said.contains("quota") {
        "free some space there, then copy again; nothing was changed at the destination"
    } else if kind == Some(ErrorKind::PermissionDenied) || said.contains("ermission denied") {
        "choose a place that may be written, or correct its permissions; nothing was changed at the destination"
    } else if said.contains("no tar inside") || said.contains("needs tar") {
        "copy file by file, install tar inside, or show the folder with `env new --mount`"
    } else {
        "correct that, then copy again; nothing was changed at the destination"
    }
}
