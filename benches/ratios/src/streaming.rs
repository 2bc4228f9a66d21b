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

/// A table-driven state machine: 256 classes, and a table of transitions (the design of Björn Höhrmann).
#[derive(Default)]
pub struct Dfa(u8);

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x80;
    while byte < 256 {
        classes[byte] = match byte {
            0x80..=0x8F => 1,
            0x90..=0x9F => 2,
            0xA0..=0xBF => 3,
            0xC2..=0xDF => 4,
            0xE0 => 5,
            0xED => 6,
            0xE1..=0xEF => 7,
            0xF0 => 8,
            0xF1..=0xF3 => 9,
            0xF4 => 10,
            _ => 11,
        };
        byte += 1;
    }
    classes
};

const REJECTED: u8 = 8;

/// States: 0 at a boundary; 1 to 3 bytes missing; 4 to 7 after E0, ED, F0, F4.
const NEXT: [[u8; 12]; 9] = {
    let mut next = [[REJECTED; 12]; 9];
    next[0] = [0, REJECTED, REJECTED, REJECTED, 1, 4, 5, 2, 6, 3, 7, REJECTED];
    let mut class = 1;
    while class <= 3 {
        next[1][class] = 0;
        next[2][class] = 1;
        next[3][class] = 2;
        class += 1;
    }
    next[4][3] = 1;
    next[5][1] = 1;
    next[5][2] = 1;
    next[6][2] = 2;
    next[6][3] = 2;
    next[7][1] = 2;
    next
};

impl Streaming for Dfa {
    #[inline(always)]
    fn feed(&mut self, chunk: &[u8]) -> bool {
        for &byte in chunk {
            self.0 = NEXT[usize::from(self.0)][usize::from(CLASSES[usize::from(byte)])];
        }
        self.0 != REJECTED
    }
}

/// An upper bound for all decoders: only reads every byte, with the widest vectors of this CPU.
#[cfg(target_arch = "x86_64")]
pub fn read(data: &[u8], chunk: usize) -> u64 {
    #[target_feature(enable = "avx512f")]
    fn or_512(data: &[u8]) -> u64 {
        use core::arch::x86_64::*;
        // SAFETY: all loads are inside the blocks of the slice.
        unsafe {
            let (blocks, rest) = data.as_chunks::<256>();
            let mut any = [_mm512_setzero_si512(); 4];
            for block in blocks {
                for (i, any) in any.iter_mut().enumerate() {
                    *any = _mm512_or_si512(*any, _mm512_loadu_si512(block.as_ptr().add(64 * i).cast()));
                }
            }
            let any = _mm512_or_si512(_mm512_or_si512(any[0], any[1]), _mm512_or_si512(any[2], any[3]));
            rest.iter().fold(_mm512_reduce_or_epi64(any) as u64, |any, &byte| any | u64::from(byte))
        }
    }
    #[target_feature(enable = "avx2")]
    fn or_256(data: &[u8]) -> u64 {
        use core::arch::x86_64::*;
        // SAFETY: all loads are inside the blocks of the slice.
        unsafe {
            let (blocks, rest) = data.as_chunks::<128>();
            let mut any = [_mm256_setzero_si256(); 4];
            for block in blocks {
                for (i, any) in any.iter_mut().enumerate() {
                    *any = _mm256_or_si256(*any, _mm256_loadu_si256(block.as_ptr().add(32 * i).cast()));
                }
            }
            let any = _mm256_or_si256(_mm256_or_si256(any[0], any[1]), _mm256_or_si256(any[2], any[3]));
            let is_zero = _mm256_testz_si256(any, any);
            rest.iter().fold(is_zero as u64, |any, &byte| any | u64::from(byte))
        }
    }
    let wide = is_x86_feature_detected!("avx512f");
    assert!(wide || is_x86_feature_detected!("avx2"), "this benchmark needs AVX2");
    for chunk in data.chunks(chunk) {
        // SAFETY: the CPU has these instructions.
        std::hint::black_box(unsafe { if wide { or_512(chunk) } else { or_256(chunk) } });
    }
    data.len() as u64
}
