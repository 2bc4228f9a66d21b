//! `pin_project!` without pinning, for builds that only have the traits of std: they need no dependency.

macro_rules! pin_project {
    ($(#[$meta:meta])* pub struct $name:ident<$($type:ident $(= $default:ty)?),*> { #[pin] $($fields:tt)* }) => {
        $(#[$meta])*
        pub struct $name<$($type $(= $default)?),*> { $($fields)* }
    };
}

pub(super) use pin_project;
