//! The `ui` layer.
