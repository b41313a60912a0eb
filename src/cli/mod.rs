//! The `cli` layer.
