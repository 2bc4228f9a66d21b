//! The fast path, for well-formed input and enough output space.
//!
//! [`copy`] may stop between any two code points. The slow path continues from there, code point by code point, and
//! detects errors.

use kernels::ascii::AsciiCopy;
use kernels::conversions::{Form, convert};
use kernels::copy::copy_in_pieces;
use utf8_codec::{Subset, from_utf8};

use super::item::Item;
use super::pairs;
use super::pivot::{FIRST_UNITS, Pivot};
use super::source::Source;
use super::switches::Switches;
use super::target::Target;
use crate::encoding::Encoding;

/// The size of a validated block. Validation reads the block, and the copy reads it again from the L1 cache.
const BLOCK: usize = 4 * 1024;
/// The number of bytes in the first step of [`copy_within`].
const FIRST_STEP: usize = 256;

/// Converts from `src` to `dst`, at most up to the end of either. May stop earlier at any code point. Returns the
/// number of bytes read and the number of bytes written.
pub(super) fn copy(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    match (source.legacy(), target.legacy()) {
        (None, None) => {}
        (Some(legacy), None) if target.writes_utf_8() => return legacy.decode(src, dst),
        (None, Some(legacy)) if source.reads_utf_8() => return legacy.encode_utf_8(src, dst),
        _ => return legacy_through_utf_8(source, target, src, dst),
    }
    let utf_8 = (source.reads_utf_8(), target.writes_utf_8());
    match (utf_8, source.encoding(), target.encoding()) {
        // The lenient variant of Modified UTF-8 also reads UTF-8.
        ((false, true), Encoding::ModifiedUtf8, _) => pairs::join::<true, false>(src, dst),
        ((true, true), Encoding::ModifiedUtf8, _) => pairs::join::<true, true>(src, dst),
        ((_, true), Encoding::Cesu8, _) => pairs::join::<false, false>(src, dst),
        ((true, true), ..) => same(src, dst),
        ((true, _), _, Encoding::Cesu8) => pairs::split::<false>(src, dst),
        ((true, _), _, Encoding::ModifiedUtf8) => pairs::split::<true>(src, dst),
        ((false, false), Encoding::Cesu8 | Encoding::ModifiedUtf8, to) if to != Encoding::Utf8Ucs4 => {
            through_utf_8(source, target, src, dst)
        }
        ((false, false), from, Encoding::Cesu8 | Encoding::ModifiedUtf8) if from != Encoding::Utf8Ucs4 => {
            through_utf_8(source, target, src, dst)
        }
        ((reads_utf_8, writes_utf_8), from, to) => {
            let from = if reads_utf_8 { Some(Form::Utf8) } else { form(from) };
            let to = if writes_utf_8 { Some(Form::Utf8) } else { form(to) };
            let converted = from.zip(to).and_then(|(from, to)| convert(from, to, src, dst));
            converted.unwrap_or_else(|| one_by_one(source, target, src, dst))
        }
    }
}

/// Returns the encoding as the kernels name it, if they convert it.
const fn form(encoding: Encoding) -> Option<Form> {
    Some(match encoding {
        Encoding::Utf8 => Form::Utf8,
        Encoding::Utf16Le => Form::Utf16Le,
        Encoding::Utf16Be => Form::Utf16Be,
        Encoding::Latin1 => Form::Latin1,
        Encoding::Windows1252 => Form::Windows1252,
        _ => return None,
    })
}

/// [`copy`], at most up to the first character outside the subset. If neither side is UTF-8, nothing is copied.
pub(super) fn copy_within(
    subset: &Subset,
    source: &Source,
    target: &Target,
    src: &[u8],
    dst: &mut [u8],
) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    // The first step is small, because a character outside the subset makes all of the work on the step useless.
    let mut step = FIRST_STEP;
    loop {
        let rest = &src[read..];
        let room = &mut dst[written..];
        let (taken, made, is_all) = if source.reads_utf_8() {
            let (text, _) = kernels::prefix(kernels::AtBoundary::START, &rest[..rest.len().min(step)]);
            let inside = subset.first_outside(text).map_or(text.len(), |(at, _)| at);
            let (taken, made) = copy(source, target, &rest[..inside], room);
            (taken, made, inside + 3 >= step && taken == inside)
        } else if target.writes_utf_8() {
            let room = room.len().min(step);
            let (taken, made) = copy(source, target, rest, &mut dst[written..written + room]);
            match from_utf8(&dst[written..written + made]).map(|text| subset.first_outside(text)) {
                Ok(None) => (taken, made, taken > 0 && made + 64 >= step),
                // Convert the input again up to this position, or up to shortly before it.
                Ok(Some((inside, _))) => {
                    let (taken, made) = copy(source, target, rest, &mut dst[written..written + inside]);
                    (taken, made, false)
                }
                // WTF-8 output may have surrogates.
                Err(_) => (0, 0, false),
            }
        } else {
            (0, 0, false)
        };
        read += taken;
        written += made;
        // The state of a legacy encoding changes after each step.
        if !is_all || taken == 0 || source.legacy().is_some() || target.legacy().is_some() {
            return (read, written);
        }
        step = BLOCK.min(4 * step);
    }
}

/// Copies UTF-8 to UTF-8.
fn same(src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut done = 0;
    let mut ascii = AsciiCopy::NEW;
    while done < src.len().min(dst.len()) {
        // ASCII is copied and tested in the same loop.
        done += ascii.run::<true>(&src[done..], &mut dst[done..]);
        let end = src.len().min(dst.len()).min(done + BLOCK);
        let (text, _) = kernels::prefix(kernels::AtBoundary::START, &src[done..end]);
        copy_in_pieces(text.as_bytes(), &mut dst[done..done + text.len()]);
        done += text.len();
        if done + 3 < end || text.is_empty() {
            break;
        }
    }
    (done, done)
}

/// The maximum number of bytes that are converted to UTF-8 at a time.
const PIECE: usize = 256;

/// Converts between CESU-8 or Modified UTF-8 and an encoding that is not UTF-8, in two steps through a buffer of UTF-8.
fn through_utf_8(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let to_text = Target::new(Encoding::Utf8, Switches::STRICT);
    let of_text = Source::new(Encoding::Utf8, target.encoding(), Switches::STRICT);
    // A byte of windows-1252 may become 3 bytes.
    let mut text = [0; 4 * PIECE + 64];
    let mut read = 0;
    let mut written = 0;
    loop {
        // A byte becomes at most 3 bytes of text, and each byte of text at most 4 bytes of UTF-32.
        let len = (src.len() - read).min((dst.len() - written) / 12).min(PIECE);
        let piece = &src[read..read + len];
        let room = &mut dst[written..];
        let (taken, made) = copy(source, &to_text, piece, &mut text);
        let (used, out) = copy(&of_text, target, &text[..made], room);
        if taken == 0 || used < made {
            // The end of the input or the output, or a character that stops both conversions.
            let (rest, out) = one_by_one(source, target, &src[read..src.len().min(read + PIECE)], room);
            return (read + rest, written + out);
        }
        read += taken;
        written += out;
    }
}

/// Converts between a legacy encoding and an encoding that is not UTF-8, in two steps through a buffer of UTF-8.
fn legacy_through_utf_8(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut source = *source;
    let mut target = *target;
    let to_text = Target::new(Encoding::Utf8, Switches::STRICT);
    let of_text = Source::new(Encoding::Utf8, target.encoding(), Switches::STRICT);
    let mut text = [0; 4 * PIECE + 64];
    let mut read = 0;
    let mut written = 0;
    loop {
        // As in `through_utf_8`.
        let len = (src.len() - read).min((dst.len() - written) / 12).min(PIECE);
        let piece = &src[read..read + len];
        let room = &mut dst[written..];
        let (mut taken, made) = copy(&source, &to_text, piece, &mut text);
        let (used, mut out) = copy(&of_text, &target, &text[..made], room);
        if used < made {
            // Up to the character that the target does not have, or up to shortly before it.
            let made;
            (taken, made) = copy(&source, &to_text, piece, &mut text[..used]);
            (_, out) = copy(&of_text, &target, &text[..made], room);
        }
        source.advance(&piece[..taken]);
        target.advance(&room[..out]);
        read += taken;
        written += out;
        if taken == 0 || used < made {
            return (read, written);
        }
    }
}

/// Converts any encoding to any other: ASCII in blocks, other text through UTF-16 or code point by code point.
fn one_by_one(source: &Source, target: &Target, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    let pivot = if src.len() < FIRST_UNITS { None } else { Pivot::new(source, target) };
    // `wait` is the number of iterations left without the pivot. It starts at `pause` after an iteration in which the
    // pivot read little.
    let mut pause = 0;
    let mut wait = 0;
    loop {
        // ASCII is copied in blocks if the pivot is not used now, or if ASCII is the same in both encodings. Otherwise
        // the pivot is faster.
        if wait > 0 || pivot.is_none_or(Pivot::copies_ascii) {
            let (ascii_read, ascii_written) =
                ascii(source.encoding(), target.encoding(), &src[read..], &mut dst[written..]);
            read += ascii_read;
            written += ascii_written;
        }
        // The block test is repeated only after some code points, so that text without ASCII is not slowed down.
        for _ in 0..BLOCK_UNITS {
            let rest = &src[read..];
            if rest.is_empty() {
                return (read, written);
            }
            let Item::CodePoint { value, len } = source.read(rest) else { return (read, written) };
            let Some(sequence) = target.encode(value) else { return (read, written) };
            let bytes = sequence.as_slice();
            let Some(room) = dst.get_mut(written..written + bytes.len()) else { return (read, written) };
            room.copy_from_slice(bytes);
            read += len;
            written += bytes.len();
        }
        // The pivot runs only after some code points without an error. If errors are frequent, the conversion of a
        // block would be wasted work.
        if wait > 0 {
            wait -= 1;
        } else if let Some(pivot) = pivot {
            let (pivot_read, pivot_written) = pivot.convert(&src[read..], &mut dst[written..]);
            read += pivot_read;
            written += pivot_written;
            pause = if pivot_read < FIRST_UNITS { (2 * pause).clamp(1, LONGEST_PAUSE) } else { 0 };
            wait = pause;
        }
    }
}

/// The maximum number of iterations without the pivot. The pivot reads little if it does not convert the characters of
/// the text.
const LONGEST_PAUSE: usize = 32;

/// The number of code units in a block of ASCII.
const BLOCK_UNITS: usize = 16;

/// Converts blocks of ASCII.
fn ascii(from: Encoding, to: Encoding, src: &[u8], dst: &mut [u8]) -> (usize, usize) {
    let nul = from != Encoding::ModifiedUtf8 && to != Encoding::ModifiedUtf8;
    macro_rules! to {
        ($size:literal, $at:literal) => {
            match unit(to) {
                (1, _) => blocks::<$size, $at, 1, 0>(src, dst, nul),
                (2, 0) => blocks::<$size, $at, 2, 0>(src, dst, nul),
                (2, _) => blocks::<$size, $at, 2, 1>(src, dst, nul),
                (_, 0) => blocks::<$size, $at, 4, 0>(src, dst, nul),
                (_, _) => blocks::<$size, $at, 4, 3>(src, dst, nul),
            }
        };
    }
    match unit(from) {
        (1, _) => to!(1, 0),
        (2, 0) => to!(2, 0),
        (2, _) => to!(2, 1),
        (_, 0) => to!(4, 0),
        (_, _) => to!(4, 3),
    }
}

/// Returns the size of a code unit in bytes, and the index of the byte that contains an ASCII character.
const fn unit(encoding: Encoding) -> (usize, usize) {
    match encoding {
        Encoding::Utf16Le => (2, 0),
        Encoding::Utf16Be => (2, 1),
        Encoding::Utf32Le => (4, 0),
        Encoding::Utf32Be => (4, 3),
        _ => (1, 0),
    }
}

/// Converts whole blocks of ASCII from units of `S` bytes to units of `T` bytes. The ASCII byte has the index `AT` in
/// the source and `TO` in the target. `nul` is whether U+0000 is encoded as in ASCII.
fn blocks<const S: usize, const AT: usize, const T: usize, const TO: usize>(
    src: &[u8],
    dst: &mut [u8],
    nul: bool,
) -> (usize, usize) {
    let mut blocks = 0;
    for (from, to) in src.chunks_exact(BLOCK_UNITS * S).zip(dst.chunks_exact_mut(BLOCK_UNITS * T)) {
        let mut ascii = [0; BLOCK_UNITS];
        let mut other = 0;
        for (unit, place) in from.chunks_exact(S).zip(&mut ascii) {
            for (i, &byte) in unit.iter().enumerate() {
                other |= if i == AT { byte & 0x80 } else { byte };
            }
            *place = unit[AT];
        }
        if other != 0 || (!nul && ascii.contains(&0)) {
            break;
        }
        for (unit, &byte) in to.chunks_exact_mut(T).zip(&ascii) {
            unit.fill(0);
            unit[TO] = byte;
        }
        blocks += 1;
    }
    (blocks * BLOCK_UNITS * S, blocks * BLOCK_UNITS * T)
}
