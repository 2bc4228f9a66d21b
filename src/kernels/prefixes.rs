//! Sets of characters by the first bytes of their sequences, as tables of nibbles (half bytes).
//!
//! A table has an entry for each value of a nibble. The tables contain unions of products: each of the 8 bits of an entry
//! is a product, which is a set of values for each nibble. A sequence is in the product if each of its nibbles is in the
//! set of its position, so it is in the union if the entries of its nibbles have a bit in common.
//!
//! | characters | product |
//! |---|---|
//! | `00..=1F` | high nibbles 0 and 1, all low nibbles; any byte after it |
//! | `C2 80..=C2 9F` | nibbles C, 2; 8 and 9, all |
//! | `E2 80 8E` and `E2 80 8F` | nibbles E, 2; 8, 0; 8, E and F |
//!
//! If there are more than 8 products, two of them are replaced by a product that contains both, so the set may contain
//! more characters than were added.

/// A set of values of a nibble, as a bit in each of 16 bytes, like an entry of a table.
type Nibbles = u128;

const ALL: Nibbles = u128::from_ne_bytes([1; 16]);

/// Spreads 16 bits to 16 bytes.
const fn spread(bits: u16) -> Nibbles {
    let (mut spread, mut i) = (0, 0);
    while i < 16 {
        spread |= ((bits >> i & 1) as Nibbles) << (8 * i);
        i += 1;
    }
    spread
}

const fn high_of(byte: u8) -> Nibbles {
    1 << (8 * (byte >> 4))
}

const fn low_of(byte: u8) -> Nibbles {
    1 << (8 * (byte & 0xF))
}

/// A union of 8 products of `N` sets of nibbles: a table for each nibble. The lowest byte of a table is the entry of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Products<const N: usize>([u128; N]);

impl<const N: usize> Products<N> {
    const EMPTY: Self = Self([0; N]);

    const fn product(&self, bit: u32) -> [Nibbles; N] {
        let (mut product, mut i) = ([0; N], 0);
        while i < N {
            product[i] = self.0[i] >> bit & ALL;
            i += 1;
        }
        product
    }

    /// Adds a product. Returns the union, and the bit that contains the product. Bits that are in `others` are only used
    /// if no other one is free.
    const fn with(mut self, product: [Nibbles; N], others: u8) -> (Self, u32) {
        let (mut best, mut least, mut bit) = (0, u64::MAX, 0);
        while bit < 8 {
            let growth = growth(&self.product(bit), &product) + ((others as u64 >> bit & 1) << 32);
            if growth < least {
                (best, least) = (bit, growth);
            }
            bit += 1;
        }
        let mut i = 0;
        while i < N {
            self.0[i] |= product[i] << best;
            i += 1;
        }
        (self, best)
    }

    /// Returns the bits that the entries of these nibbles have in common.
    #[inline]
    fn has(&self, nibbles: [u8; N]) -> u8 {
        let entries = self.0.iter().zip(nibbles).map(|(table, nibble)| (table >> (8 * (nibble & 0xF))) as u8);
        entries.fold(0xFF, |bits, entry| bits & entry)
    }
}

const fn size<const N: usize>(product: &[Nibbles; N]) -> u64 {
    let (mut size, mut i) = (1, 0);
    while i < N {
        size *= product[i].count_ones() as u64;
        i += 1;
    }
    size
}

/// Returns how many elements the smallest product that contains two others has and none of them has.
const fn growth<const N: usize>(a: &[Nibbles; N], b: &[Nibbles; N]) -> u64 {
    let (mut union, mut both, mut i) = (*a, *a, 0);
    while i < N {
        union[i] |= b[i];
        both[i] &= b[i];
        i += 1;
    }
    size(&union) + size(&both) - size(a) - size(b)
}

/// A set of characters. A character is in the set if its first byte is (ASCII), or its first two bytes are (sequences of
/// 2 bytes, and others that were added without their third bytes), or its first three bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefixes {
    /// The first two bytes of all characters.
    pairs: Products<4>,
    /// The bits of `pairs` that do not depend on the third byte.
    whole: u8,
    /// The first three bytes of the characters that have a bit of `pairs` that is not in `whole`.
    triples: Products<6>,
}

impl Prefixes {
    pub(crate) const EMPTY: Self = Self { pairs: Products::EMPTY, whole: 0, triples: Products::EMPTY };

    /// Adds ASCII bytes with the same high nibble, by a bit for each low nibble.
    pub(crate) const fn with_ascii(self, high: u8, low: u16) -> Self {
        if low == 0 {
            return self;
        }
        self.with_pairs([high_of(high << 4), spread(low), ALL, ALL], true)
    }

    /// Adds pairs of a lead byte and a second byte, by a bit for each second byte. `is_whole` is whether all characters
    /// with these pairs are added. Otherwise their third bytes are added by [`with_thirds`](Self::with_thirds).
    ///
    /// Text contains no second byte whose bit in `possible` is 0. Some of these pairs may be added too.
    pub(crate) const fn with_seconds(self, lead: u8, seconds: u64, possible: u64, is_whole: bool) -> Self {
        let (mut prefixes, mut row) = (self, 0);
        let mut rest = 0xF;
        // One product for all rows of 16 bytes that are equal or impossible.
        while row < 4 {
            let columns = (seconds >> (16 * row)) as u16;
            if columns != 0 && rest >> row & 1 != 0 {
                let (mut rows, mut other) = (0, 0);
                while other < 4 {
                    let is_equal = (seconds >> (16 * other)) as u16 == columns;
                    if is_equal || (possible >> (16 * other)) as u16 == 0 {
                        rows |= 1 << (8 + other);
                        rest &= !(1 << other);
                    }
                    other += 1;
                }
                let product = [high_of(lead), low_of(lead), spread(rows), spread(columns)];
                prefixes = prefixes.with_pairs(product, is_whole);
            }
            row += 1;
        }
        prefixes
    }

    /// Adds the characters with this lead byte and this second byte, by a bit for each third byte.
    pub(crate) const fn with_thirds(mut self, lead: u8, second: u8, thirds: u64) -> Self {
        let mut row = 0;
        while row < 4 {
            let columns = (thirds >> (16 * row)) as u16;
            if columns != 0 {
                let third = [spread(1 << (8 + row)), spread(columns)];
                let product =
                    [high_of(lead), low_of(lead), high_of(second), low_of(second), third[0], third[1]];
                (self.triples, _) = self.triples.with(product, 0);
            }
            row += 1;
        }
        self
    }

    const fn with_pairs(mut self, product: [Nibbles; 4], is_whole: bool) -> Self {
        let others = if is_whole { !self.whole } else { self.whole };
        let bit;
        (self.pairs, bit) = self.pairs.with(product, others & self.used());
        if is_whole {
            self.whole |= 1 << bit;
        }
        self
    }

    /// Returns the bits of `pairs` that have a product.
    const fn used(&self) -> u8 {
        let (mut used, mut bit) = (0, 0);
        while bit < 8 {
            used |= ((size(&self.pairs.product(bit)) != 0) as u8) << bit;
            bit += 1;
        }
        used
    }

    /// Returns the union of both sets, or a set that contains it.
    pub(crate) const fn or(mut self, other: &Self) -> Self {
        let mut bit = 0;
        while bit < 8 {
            let (pair, triple) = (other.pairs.product(bit), other.triples.product(bit));
            if size(&pair) != 0 {
                self = self.with_pairs(pair, other.whole >> bit & 1 != 0);
            }
            if size(&triple) != 0 {
                (self.triples, _) = self.triples.with(triple, 0);
            }
            bit += 1;
        }
        self
    }

    /// Whether the first character of text is in the set.
    #[inline]
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let [first, second, third] = match *text {
            [first, second, third, ..] => [first, second, third],
            [first, second] => [first, second, 0],
            [first] => [first, 0, 0],
            [] => return false,
        };
        let pair = self.pairs.has([first >> 4, first, second >> 4, second]);
        pair & self.whole != 0
            || pair != 0 && self.triples.has([first >> 4, first, second >> 4, second, third >> 4, third]) != 0
    }
}
