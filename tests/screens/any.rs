//! Any view model at any size.
