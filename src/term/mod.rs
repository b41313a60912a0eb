//! Terminal engine.

/// A screen.
pub struct Screen;
