//! Compares `from_utf8` and `Utf8Decoder` with the standard library on 60,000 inputs, most of them ill-formed.
//! Exits with 0 if they agree, with 1 if they do not. `.ci/run targets` runs it under qemu.

#![no_std]
#![no_main]

use core::arch::{asm, naked_asm};
use core::panic::PanicInfo;

use utf8_codec::{ErrorKind, Utf8Decoder, from_utf8};

const INPUTS: usize = 60_000;
const LONGEST: usize = 200;

/// The parts of the inputs: characters of each length, and bytes that begin, continue and break sequences.
const PARTS: [&[u8]; 16] = [
    b"a",
    b"plain ASCII, longer than two words",
    "é".as_bytes(),
    "€".as_bytes(),
    "\u{D7FF}".as_bytes(),
    "\u{E000}".as_bytes(),
    "💩".as_bytes(),
    "\u{10FFFF}".as_bytes(),
    "жжжжжжжж".as_bytes(),
    "漢字漢字".as_bytes(),
    b"\x80",
    b"\xC3",
    b"\xE2\x82",
    b"\xED\xA0",
    b"\xF0\x9F",
    b"\xFF",
];

fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) as usize
}

fn agree() -> bool {
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    (0..INPUTS).all(|_| {
        let mut memory = [0; LONGEST + 64];
        let (mut len, wanted) = (0, random(&mut seed) % LONGEST);
        while len < wanted {
            // Ill-formed parts are rare in half of the inputs.
            let kinds = if wanted % 2 == 0 || random(&mut seed) % 32 == 0 { PARTS.len() } else { 10 };
            let part = PARTS[random(&mut seed) % kinds];
            memory[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        }
        let bytes = &memory[..len];
        let expected = match core::str::from_utf8(bytes) {
            Ok(_) => None,
            Err(error) => Some((error.valid_up_to() as u64, error.error_len())),
        };
        let whole = from_utf8(bytes).err();
        let (first, second) = bytes.split_at(random(&mut seed) % (len + 1));
        let mut decoder = Utf8Decoder::new();
        let streamed = decoder.validate(first).and_then(|()| decoder.validate(second));
        let streamed = streamed.and_then(|()| decoder.finish()).err();
        [whole, streamed].into_iter().all(|found| {
            let len = |kind, len: u8| (kind != ErrorKind::Truncated).then_some(len.into());
            found.map(|error| (error.offset, len(error.kind, error.len))) == expected
        })
    })
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn _start() -> ! {
    // Linux starts a program with an aligned stack.
    naked_asm!("bl {main}", "brk 1", main = sym main)
}

extern "C" fn main() -> ! {
    exit(if agree() { 0 } else { 1 })
}

fn exit(status: usize) -> ! {
    // SAFETY: the system call `exit` (93) does not return and touches no memory.
    unsafe { asm!("svc 0", in("x8") 93, in("x0") status, options(noreturn, nostack)) }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(2)
}
