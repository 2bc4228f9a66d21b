//! Validators of streams, with a verdict for each chunk.

use std::sync::LazyLock;

use utf8_codec::{Kernel, Utf8Decoder};

/// Checks chunks. Returns for each chunk whether the stream is well-formed so far.
pub trait Streaming: Default {
    fn feed(&mut self, chunk: &[u8]) -> bool;
}

/// Checks `data` in chunks. Returns its length if it is well-formed.
#[inline(always)]
pub fn stream<S: Streaming>(data: &[u8], chunk: usize) -> u64 {
    let mut stream = S::default();
    let mut taken = 0;
    for chunk in data.chunks(chunk) {
        if !stream.feed(chunk) {
            break;
        }
        taken += chunk.len() as u64;
    }
    taken
}

#[derive(Default)]
pub struct Ours(Utf8Decoder);

impl Streaming for Ours {
    #[inline(always)]
    fn feed(&mut self, chunk: &[u8]) -> bool {
        self.0.validate(chunk).is_ok()
    }
}

/// The kernels of this machine. The detection is slow under a hypervisor, which emulates `cpuid`.
static AVAILABLE: LazyLock<Vec<Kernel>> = LazyLock::new(|| Kernel::available().collect());

/// Runs `work` with the kernel of this name.
pub fn with_kernel(name: &str, work: impl FnOnce() -> u64) -> u64 {
    let best = Kernel::in_use();
    let wanted = AVAILABLE.iter().find(|kernel| kernel.name() == name).expect("this machine has the kernel");
    wanted.choose();
    let done = work();
    best.choose();
    done
}

/// A validator of whole texts.
pub trait OneShot: Default {
    fn is_good(text: &[u8]) -> bool;
}

/// A hand-written wrapper around a validator of whole texts. It copies the unfinished sequence at the end of a chunk
/// to the start of the next chunk.
#[derive(Default)]
pub struct Carried<V> {
    held: [u8; 4],
    len: usize,
    validator: core::marker::PhantomData<V>,
}

/// Returns the length of the sequence that a lead byte starts, or 1 for any other byte.
const fn len_of(lead: u8) -> usize {
    match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}

/// Returns the length of an unfinished sequence at the end.
fn unfinished(chunk: &[u8]) -> usize {
    (1..=chunk.len().min(3)).find(|&back| len_of(chunk[chunk.len() - back]) > back).unwrap_or(0)
}

impl<V: OneShot> Streaming for Carried<V> {
    #[inline(always)]
    fn feed(&mut self, mut chunk: &[u8]) -> bool {
        if self.len > 0 {
            let missing = len_of(self.held[0]) - self.len;
            let taken = missing.min(chunk.len());
            self.held[self.len..self.len + taken].copy_from_slice(&chunk[..taken]);
            self.len += taken;
            chunk = &chunk[taken..];
            if taken < missing {
                return self.held[1..self.len].iter().all(|byte| byte & 0xC0 == 0x80);
            }
            if core::str::from_utf8(&self.held[..self.len]).is_err() {
                return false;
            }
            self.len = 0;
        }
        let held = unfinished(chunk);
        let (whole, tail) = chunk.split_at(chunk.len() - held);
        self.held[..held].copy_from_slice(tail);
        self.len = held;
        V::is_good(whole)
    }
}

macro_rules! one_shot {
    ($name:ident, $text:ident => $is_good:expr) => {
        #[derive(Default)]
        pub struct $name;

        impl OneShot for $name {
            #[inline(always)]
            fn is_good($text: &[u8]) -> bool {
                $is_good
            }
        }
    };
}

one_shot!(OursOneShot, text => utf8_codec::from_utf8(text).is_ok());
one_shot!(Std, text => core::str::from_utf8(text).is_ok());
one_shot!(Smoothutf8, text => smoothutf8::verify(text));
one_shot!(Simdutf8, text => simdutf8::basic::from_utf8(text).is_ok());
one_shot!(PsSimdutf8, text => ps_simdutf8::basic::from_utf8(text).is_ok());
one_shot!(Simdutf, text => simdutf::validate_utf8(text));
one_shot!(EncodingRs, text => encoding_rs::Encoding::utf8_valid_up_to(text) == text.len());
one_shot!(Bstr, text => bstr::ByteSlice::to_str(text).is_ok());
