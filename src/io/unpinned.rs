//! A `pin_project!` that only defines the struct, without projections. Builds with only the traits of std use it, so
//! they do not depend on `pin-project-lite`.

macro_rules! pin_project {
    ($(#[$meta:meta])* pub struct $name:ident<$($type:ident $(= $default:ty)?),*> { #[pin] $($fields:tt)* }) => {
        $(#[$meta])*
        pub struct $name<$($type $(= $default)?),*> { $($fields)* }
    };
}

pub(super) use pin_project;
