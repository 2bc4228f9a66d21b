//! Macros for code that many types share: names, and accessors of the inner value.

/// Declares an enum of kinds with their names.
#[doc(hidden)]
#[macro_export]
macro_rules! kinds {
    // The name of a variant, which is its identifier if no other is set.
    (@name $variant:ident) => {
        stringify!($variant)
    };
    (@name $variant:ident $name:literal) => {
        $name
    };
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$doc:meta])* $variant:ident $(= $name:literal)?,)* }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        impl $type {
            /// Every kind, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name, for logs and protocols.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $crate::kinds!(@name $variant $($name)?),)*
                }
            }
        }

        impl core::fmt::Display for $type {
            /// Writes the name.
            #[inline]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Declares an enum whose values have names, for options and configuration files.
#[doc(hidden)]
#[macro_export]
macro_rules! choices {
    ($what:literal: $(#[$meta:meta])* pub enum $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name of the value.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl core::fmt::Display for $type {
            /// Writes the name.
            #[inline]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $type {
            type Err = $crate::UnknownName;

            /// Parses a name in lowercase.
            #[inline]
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let unknown = $crate::UnknownName::new($what, &[$($name),*]);
                Self::ALL.iter().copied().find(|value| value.name() == name).ok_or(unknown)
            }
        }
    };
}

/// Implements `Default` by `new`.
#[doc(hidden)]
#[macro_export]
macro_rules! default_is_new {
    ($type:ident) => {
        impl Default for $type {
            #[inline]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// Returns the names of all values of a type.
macro_rules! names_of {
    ($type:ident, $name:ident) => {{
        let mut names = [""; $type::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = $type::ALL[i].$name();
            i += 1;
        }
        names
    }};
}

/// The accessors of an inner value. The sentences, if any, say what a caller of `get_mut` and of `into_inner` has to know.
#[doc(hidden)]
#[macro_export]
macro_rules! inner_accessors {
    ($inner:ident: $type:ident, $what:literal) => {
        $crate::inner_accessors!($inner: $type, $what, "", "");
    };
    ($inner:ident: $type:ident, $what:literal, $of_mut:literal, $of_into:literal) => {
        $crate::inner_accessors!($inner: $type, $what, $of_mut);

        #[doc = concat!("Returns the ", $what, ". ", $of_into)]
        pub fn into_inner(self) -> $type {
            self.$inner
        }
    };
    ($inner:ident: $type:ident, $what:literal, $of_mut:literal) => {
        #[doc = concat!("Returns the ", $what, ".")]
        pub const fn get_ref(&self) -> &$type {
            &self.$inner
        }

        #[doc = concat!("Returns the ", $what, ". ", $of_mut)]
        pub const fn get_mut(&mut self) -> &mut $type {
            &mut self.$inner
        }
    };
}

/// The accessors of the inner reader or writer of an adapter that may be pinned.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! io_accessors {
    ($type:ident, $what:literal, $of_mut:literal, $of_into:literal) => {
        $crate::inner_accessors!(inner: $type, $what, $of_mut, $of_into);

        #[doc = concat!("Returns the ", $what, ", pinned. ", $of_mut)]
        #[cfg(any(feature = "futures-io", feature = "tokio-io"))]
        pub fn get_pin_mut(self: core::pin::Pin<&mut Self>) -> core::pin::Pin<&mut $type> {
            self.project().inner
        }
    };
}
