//! Empty, because a manifest needs a target. See `README.md`.
