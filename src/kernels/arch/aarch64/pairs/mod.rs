//! Surrogate pairs of 6 bytes with NEON.

mod join;
mod split;

pub(in crate::kernels) use join::join;
pub(in crate::kernels) use split::split;
