//! The functions that a kernel consists of.

use core::fmt;
use core::num::NonZeroUsize;

use super::class::Class;
use super::state::ScanState;

/// Calls a macro with the functions of a kernel. The functions in `variants` have several variants each.
macro_rules! functions {
    ($callback:ident) => {
        $callback! {
            functions {
                /// Counts how often a byte occurs.
                count(bytes: &[u8], wanted: u8) -> usize;
                count_range(bytes: &[u8], range: Range) -> usize;
                /// Counts the occurrences of a byte in groups of [`ASCII_GROUP`] bytes, up to the first group with a
                /// byte that is not ASCII. A last, incomplete group is not counted. Returns the number of bytes in the
                /// counted groups, and the number of occurrences.
                count_ascii(bytes: &[u8], wanted: u8) -> (usize, usize);
                /// Returns the length of the ASCII at the start of the bytes, rounded down to groups of at most 512 bytes.
                #[cfg(feature = "transcode")]
                ascii_len(bytes: &[u8]) -> usize;
                /// UTF-8 to ISO 8859-1, as [`Convert`]. Does nothing if the kernel has no vector code for it.
                #[cfg(feature = "transcode")]
                encode_latin(input: &[u8], output: &mut [u8]) -> (usize, usize);
                /// Decodes groups of 4 base64 symbols to 3 bytes each. Stops at or shortly before a group with a byte
                /// that is not a symbol, and at the end of the symbols or the output. Returns the number of groups
                /// decoded. Output after them may be overwritten.
                #[cfg(feature = "base64")]
                decode_base64(symbols: &[u8], output: &mut [u8]) -> usize;
                /// Decodes lines of base64 that all have this form. Stops before a line of another form, and at the end
                /// of the input or the output. Returns the number of lines decoded. Output after them may be
                /// overwritten.
                #[cfg(feature = "base64")]
                decode_base64_lines(encoded: &[u8], output: &mut [u8], form: LineForm) -> usize;
                /// Writes the positions of a byte in order. The first [`Found::searched`] bytes are searched.
                find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found;
                /// Writes the positions at which a character of the class [begins](Class::begins), in order. The first
                /// [`Found::searched`] bytes are searched.
                find_class(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found;
                /// Returns the length of a prefix of the text in which every JSON escape encodes a character. It ends
                /// between escapes. Returns 0 if the kernel has no vector code for it.
                escapes_len(text: &[u8]) -> usize;
                /// Returns the length of the ASCII at the start of the bytes that has no byte of the class, rounded
                /// down to groups of [`ASCII_GROUP`] bytes. Returns 0 if the kernel has no vector code for it.
                ascii_without(bytes: &[u8], class: &Class) -> usize;
            }
            variants {
                /// ISO 8859-1 and windows-1252 to UTF-8, as [`Convert`].
                #[cfg(feature = "transcode")]
                decode_latin[2](input: &[u8], output: &mut [u8]) -> (usize, usize);
                /// Copies the bytes at the start of the input, in groups: those below `80`, below `80` without `00`,
                /// below `F0`, and below `F0` without `00`. Stops before the group with the first other byte, and at or
                /// shortly before the end of the input or the output. Returns the number of bytes copied, which is 0 if
                /// the kernel has no vector code for it.
                #[cfg(feature = "transcode")]
                copy_below[4](input: &[u8], output: &mut [u8]) -> usize;
            }
            fields {
                validate_function: Validate,
                /// For chunks of more than [`MAX_VECTOR`] bytes.
                validate_large_function: Validate,
                is_text_function: IsText,
                /// `None` if the kernel has only the portable loops.
                #[cfg(feature = "transcode")]
                utf16: Option<Utf16>,
            }
        }
    };
}
pub(crate) use functions;

macro_rules! declare {
    (
        functions {
            $($(#[$attribute:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*
        }
        variants {
            $($(#[$other_attribute:meta])* $other:ident[$count:literal]($($input:ident: $input_type:ty),*) -> $output:ty;)*
        }
        fields {
            $($(#[$field_attribute:meta])* $field:ident: $field_type:ty,)*
        }
    ) => {
        /// The functions of a kernel. This CPU may or may not support them.
        ///
        /// # Safety
        ///
        /// Each function may be called if `is_supported` returned true, and if the requirements of its type are met.
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $($(#[$attribute])* pub(crate) $name: unsafe fn($($type),*) -> $result,)*
            $($(#[$other_attribute])* pub(crate) $other: [unsafe fn($($input_type),*) -> $output; $count],)*
            $($(#[$field_attribute])* pub(crate) $field: $field_type,)*
            pub(crate) name: &'static str,
            /// Returns whether this CPU supports the instructions.
            pub(crate) is_supported: fn() -> bool,
        }
    };
}

functions!(declare);

/// The index of a byte in a chunk, stored plus one so that `Result<(), Index>` fits in one register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Index(NonZeroUsize);

impl Index {
    #[inline]
    pub(crate) const fn new(index: usize) -> Self {
        Self(NonZeroUsize::MIN.saturating_add(index))
    }

    #[inline]
    pub const fn get(self) -> usize {
        self.0.get() - 1
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Validates the next chunk of a stream. Takes the state before it, and returns the state after it as
/// [`bits`](ScanState::bits), so that both are in registers.
///
/// With `Ok`, the state is the one at the end of the chunk. `Err(index)` means that `chunk[index]` makes the stream
/// ill-formed; the carry is unchanged. A byte that well-formed text never contains (`C0`, `C1`, `F5..=FF`) may instead
/// be reported at the index of the byte after it.
///
/// An ill-formed last byte is reported by this call, not by the next one.
///
/// The chunk is the first argument, as in [`IsText`], so that the functions can call each other without moving
/// registers.
///
/// # Safety
///
/// - The CPU has the instructions.
/// - The chunk has at least 4 bytes.
pub(crate) type Validate = unsafe fn(&[u8], ScanState) -> (u64, Result<(), Index>);

/// The number of bytes in the longest vector.
pub(crate) const MAX_VECTOR: usize = 64;

/// Whether all bytes are well-formed and the last sequence is complete.
///
/// # Safety
///
/// Same as for [`Validate`].
pub(crate) type IsText = unsafe fn(&[u8]) -> bool;

/// The number of bytes that are tested for ASCII at once.
pub(crate) const ASCII_GROUP: usize = 256;

/// The number of bytes that are compared at once.
pub(crate) const BLOCK: usize = 64;

/// The number of positions that one call can return. A block is only searched if all of its positions would fit.
pub(crate) const CAPACITY: usize = 3 * BLOCK;

/// A range of byte values. It may wrap: `00` follows `FF`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    first: u8,
    /// The last value minus the first one.
    width: u8,
}

impl Range {
    pub(crate) const fn new(first: u8, last: u8) -> Self {
        Self { first, width: last.wrapping_sub(first) }
    }

    #[inline(always)]
    pub(crate) const fn has(self, byte: u8) -> bool {
        byte.wrapping_sub(self.first) <= self.width
    }

    /// Returns the first value, and the last value minus the first one.
    #[cfg(utf8_codec_vectors = "x86_64")]
    pub(crate) const fn first_and_width(self) -> [i8; 2] {
        [self.first as i8, self.width as i8]
    }
}

/// The result of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The number of positions written, at most [`CAPACITY`].
    pub(crate) count: usize,
    /// The number of bytes searched; 0 only if the input is empty.
    pub(crate) searched: usize,
}

/// The form of base64 lines: a number of whole groups of symbols, and a line break.
#[cfg(feature = "base64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineForm {
    groups: u8,
    has_cr: bool,
}

#[cfg(feature = "base64")]
impl LineForm {
    /// The maximum length of a line (RFC 2045 §6.8).
    const MAX_SYMBOLS: usize = 76;

    /// Returns `None` unless `symbols` is a multiple of 4 from 4 to 76.
    pub const fn new(symbols: usize, has_cr: bool) -> Option<Self> {
        if symbols == 0 || symbols > Self::MAX_SYMBOLS || symbols % 4 != 0 {
            return None;
        }
        Some(Self { groups: (symbols / 4) as u8, has_cr })
    }

    /// Returns the number of symbols in a line, 4 to 76.
    #[inline]
    pub const fn symbols(self) -> usize {
        self.groups as usize * 4
    }

    /// Returns the number of bytes that a line encodes.
    #[inline]
    pub const fn decoded(self) -> usize {
        self.groups as usize * 3
    }

    #[cfg(test)]
    pub(crate) const fn line_break(self) -> &'static [u8] {
        if self.has_cr { b"\r\n" } else { b"\n" }
    }

    /// Whether the bytes after the symbols of a line are its line break. The code does not compare slices, because a
    /// comparison would be a function call, and all vectors would be saved before it.
    #[inline(always)]
    pub(crate) const fn ends(self, line: &[u8]) -> bool {
        match line.split_at(self.symbols()).1 {
            [b'\r', b'\n'] => self.has_cr,
            [b'\n'] => !self.has_cr,
            _ => false,
        }
    }

    /// Returns the number of bytes of a line with its line break.
    #[inline]
    pub const fn encoded(self) -> usize {
        self.symbols() + 1 + self.has_cr as usize
    }
}

/// The UTF-16 conversions of a kernel with vector code, each for little-endian and big-endian code units.
#[cfg(feature = "transcode")]
#[derive(Clone, Copy)]
pub(crate) struct Utf16 {
    /// From text.
    pub(crate) encode: [Encode; 2],
    /// From ASCII at the start of bytes that were not validated.
    pub(crate) encode_ascii: [Convert; 2],
    /// To UTF-8. Stops at or shortly before an unpaired surrogate.
    pub(crate) decode: [Convert; 2],
}

/// Writes text as UTF-16, up to its end or a character near its end. Returns the number of bytes read and the number of bytes
/// written, at most 2 for each byte read.
///
/// # Safety
///
/// - The CPU has the instructions.
/// - The output has 2 bytes for each byte of the text.
#[cfg(feature = "transcode")]
pub(crate) type Encode = unsafe fn(text: &str, output: &mut [u8]) -> (usize, usize);

/// Reads input and writes output in blocks while both are long enough. Stops at or shortly before input that it does
/// not convert. Returns the number of bytes read and the number of bytes written. Output after them may be overwritten.
///
/// # Safety
///
/// The CPU has the instructions.
#[cfg(feature = "transcode")]
pub(crate) type Convert = unsafe fn(input: &[u8], output: &mut [u8]) -> (usize, usize);
