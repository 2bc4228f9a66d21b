//! Links the functions of the kernels, and the decoder over them, without panic code.
//!
//! The panic handler calls a function that does not exist. The linker drops the handler if nothing can call it; if
//! something can, it fails with `undefined symbol: a_function_of_this_program_can_panic`. To find the function:
//!
//! ```text
//! RUSTFLAGS='-C link-arg=-nostartfiles -C link-arg=-lc -C link-arg=-Wl,--emit-relocs' cargo build --release --features find
//! objdump --disassemble --reloc --demangle target/release/no-panic | grep -E '^[0-9a-f]+ <|core::.*(panic|fail)'
//! ```

#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use kernels::class_search::Class;
use kernels::grammar::UTF_8;
use kernels::{AtBoundary, Positions, ScanState, boundary, count, escapes, masked};
use utf8_codec::boundary::{ceil_boundary, floor_boundary, truncate, unfinished_len};
use utf8_codec::validator::{Mask, Utf8Validator};
use utf8_codec::{ErrorKind, Piece, Utf8Decoder, Utf8Error, from_utf8};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    #[cfg(not(feature = "find"))]
    {
        unsafe extern "C" {
            safe fn a_function_of_this_program_can_panic() -> !;
        }
        a_function_of_this_program_can_panic()
    }
    #[cfg(feature = "find")]
    loop {}
}

/// The entry point. The program is linked and never run.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // `black_box` hides the values from the compiler, so that it cannot remove a test of them.
    let mut memory = black_box([0_u8; 4096]);
    let (len, index, offset) = black_box((0_usize, 0_usize, 0_u64));
    let (bytes, more) = memory.split_at_mut_checked(len).unwrap_or_default();
    #[cfg(feature = "panic")]
    black_box(bytes[index]);
    validation(bytes);
    searches(bytes, index);
    decoder(Utf8Decoder::with_offset(offset), bytes, more);
    errors(black_box(Utf8Error::new(offset, ErrorKind::Truncated, 1)));
    validator(bytes, Mask::new(black_box([0; 4])));
    if let Ok(text) = from_utf8(bytes) {
        texts(text, index);
    }
    loop {}
}

static CLASS: Class = Class::EMPTY.with_ascii(0, 31);

/// Not inlined, so that `objdump` shows its name.
#[inline(never)]
fn validation(bytes: &[u8]) {
    let mut state = black_box(ScanState::START);
    black_box(kernels::likely_text(&mut state, bytes));
    black_box(kernels::validate(&mut state, bytes).is_ok());
    black_box((state.pending(), state.pending_word(), state.after(bytes), state.without_carry()));
    black_box(kernels::text(bytes));
    black_box(kernels::prefix_of_text(bytes));
    if let Some(start) = state.boundary() {
        black_box(kernels::prefix(start, bytes));
    }
    black_box(kernels::prefix_within(AtBoundary::START, bytes, &CLASS));
    black_box(kernels::plain_prefix(AtBoundary::START, bytes));
    black_box((UTF_8.walk(bytes), UTF_8.sequence(bytes)));
}

#[inline(never)]
fn searches(bytes: &[u8], index: usize) {
    black_box(Positions::after(index).next(bytes, b'\n'));
    black_box((count::byte(bytes, b'\n'), count::pair(bytes, b'\r', b'\n')));
    black_box((escapes::escapes_len(bytes), boundary::floor(bytes, index)));
    black_box(masked::masked_text_end(bytes, index, [0; 4]));
}

#[inline(never)]
fn decoder(mut decoder: Utf8Decoder, first: &[u8], second: &[u8]) {
    for chunk in [first, second] {
        let snapshot = decoder;
        let mut pieces = decoder.feed(chunk);
        while let Some(piece) = pieces.next() {
            black_box(pieces.rejected());
            match piece {
                Piece::Text(text) => black_box(text).len(),
                Piece::Seam(character) => black_box(character).len_utf8(),
                Piece::IllFormed(error) => black_box(error).len.into(),
            };
        }
        black_box((decoder.offset(), decoder.valid_up_to(), decoder.pending(), decoder == snapshot));
        let mut again = snapshot;
        let _ = black_box(again.validate(chunk));
        let _ = black_box(again.finish());
    }
    let _ = black_box(decoder.finish());
}

#[inline(never)]
fn errors(error: Utf8Error) {
    black_box((error.offset, error.kind.as_str(), error.len, error == black_box(error)));
    black_box(ErrorKind::ALL);
}

#[inline(never)]
fn validator(bytes: &mut [u8], mut mask: Mask) {
    let mut validator = Utf8Validator::new();
    let _ = black_box(validator.validate(bytes));
    let _ = black_box(validator.validate_masked(bytes, &mut mask));
    let _ = black_box(validator.unmask(bytes, &mut mask));
    mask.apply(bytes);
    black_box((validator.offset(), validator.pending(), Utf8Validator::CLOSE_CODE));
    let _ = black_box(validator.finish());
}

#[inline(never)]
fn texts(text: &str, max: usize) {
    let bytes = text.as_bytes();
    black_box((floor_boundary(bytes, max), ceil_boundary(bytes, max), unfinished_len(bytes)));
    black_box((truncate(text, max), count::characters(text), count::supplementary(text)));
}

/// The compiled `core` refers to it in its unwind tables. There is no unwinding here.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
