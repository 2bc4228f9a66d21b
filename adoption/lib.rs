//! Nothing: a manifest needs a target. See `README.md`.
