//! Classes of characters, as the data that the kernels search with.

/// A set of values of the low 6 bits of a byte, as a bit for each value.
type Set = u64;

/// The sequences whose first three bytes are in three sets.
#[derive(Clone, Copy)]
struct Product([Set; 3]);

/// A set of ASCII bytes, and of lead bytes together with the two bytes after them: a union of at most 6
/// products. For sequences of 2 bytes the third set has all values. Two products are replaced by one that contains both
/// if there are more, so the class may contain more sequences than were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// A bit for each byte `00..=3F`, `40..=7F` and `C0..=FF`, and for each second byte of a sequence of 2 bytes.
    words: [u64; 4],
    /// For the lead byte and the two bytes after it: which products have the byte.
    tables: [Table; 3],
}

/// A bit for each product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, align(16))]
pub(crate) struct Table {
    /// By the low 6 bits of a byte.
    pub(crate) entries: [u8; 64],
    /// By the low 4 bits and by the high 4 bits of a byte: the products that have such a byte, of which bits 6 and 7 are not
    /// compared.
    #[cfg_attr(not(utf8_codec_vectors = "x86_64"), allow(dead_code, reason = "only AVX2"))]
    pub(crate) halves: [[u8; 16]; 2],
}

impl Class {
    /// The maximum number of products.
    pub(crate) const PRODUCTS: usize = 6;

    /// The class without characters.
    pub const EMPTY: Self =
        Self { words: [0; 4], tables: [Table { entries: [0; 64], halves: [[0; 16]; 2] }; 3] };

    /// Adds a range of ASCII bytes.
    #[inline]
    pub const fn with_ascii(mut self, first: u8, last: u8) -> Self {
        let mut byte = first;
        while byte <= last {
            self.words[(byte >> 6) as usize] |= 1 << (byte & 63);
            byte += 1;
        }
        self
    }

    /// Whether the class has an ASCII byte.
    #[inline]
    pub const fn has_ascii(&self) -> bool {
        self.words[0] | self.words[1] != 0
    }

    /// Adds a range of lead bytes, from `C0`, with any bytes after them.
    #[cfg(feature = "transcode")]
    #[inline]
    pub const fn with_leads(self, first: u8, last: u8) -> Self {
        self.with_sequences([Set::MAX >> (63 - (last - first)) << (first & 63), Set::MAX, Set::MAX])
    }

    /// Adds all sequences with a lead byte, a second and a third byte of these sets.
    #[inline]
    pub const fn with_sequences(mut self, sets: [Set; 3]) -> Self {
        let product = Product(sets);
        let products = self.products();
        let mut best = 0;
        let mut least = u64::MAX;
        let mut bit = 0;
        while bit < Self::PRODUCTS {
            let growth = products[bit].growth(&product);
            if growth < least {
                best = bit;
                least = growth;
            }
            bit += 1;
        }
        self.words[2] |= sets[0];
        if sets[0] as u32 != 0 {
            self.words[3] |= sets[1];
        }
        let mut table = 0;
        while table < 3 {
            let set = sets[table];
            let mut left = sets[table];
            let mut half = 0;
            while left != 0 {
                self.tables[table].entries[left.trailing_zeros() as usize] |= 1 << best;
                left &= left - 1;
            }
            while half < 16 {
                let has_low = set >> half & 0x0001_0001_0001_0001 != 0;
                let has_high = set >> (16 * (half & 3)) & 0xFFFF != 0;
                self.tables[table].halves[0][half] |= (has_low as u8) << best;
                self.tables[table].halves[1][half] |= (has_high as u8) << best;
                half += 1;
            }
            table += 1;
        }
        self
    }

    /// Returns all products. Compilers evaluate this for each constant, so it reads the tables once.
    #[inline]
    const fn products(&self) -> [Product; Self::PRODUCTS] {
        let mut products = [Product([0; 3]); Self::PRODUCTS];
        let mut table = 0;
        while table < 3 {
            let mut value = 0;
            while value < 64 {
                let mut entry = self.tables[table].entries[value];
                while entry != 0 {
                    products[entry.trailing_zeros() as usize].0[table] |= 1 << value;
                    entry &= entry - 1;
                }
                value += 1;
            }
            table += 1;
        }
        products
    }

    /// Returns the union of both classes, or a class that contains it.
    #[inline]
    pub const fn or(mut self, other: &Self) -> Self {
        self.words[0] |= other.words[0];
        self.words[1] |= other.words[1];
        let products = other.products();
        let mut bit = 0;
        while bit < Self::PRODUCTS {
            let product = products[bit];
            if product.size() != 0 {
                self = self.with_sequences(product.0);
            }
            bit += 1;
        }
        self
    }

    /// Whether an ASCII byte or a lead byte is in the class.
    #[inline]
    pub(crate) const fn has(&self, byte: u8) -> bool {
        match byte >> 6 {
            2 => false,
            quarter => self.words[(quarter - quarter / 3) as usize] >> (byte & 63) & 1 != 0,
        }
    }

    /// Whether the first character of text is in the class. The byte after a lead byte must be a continuation byte; of the
    /// one after it only the low 6 bits are compared. Bytes that are missing are in every set.
    #[inline]
    pub fn begins(&self, text: &[u8]) -> bool {
        let Some(&first) = text.first() else { return false };
        if first.is_ascii() {
            return self.has(first);
        }
        let is_sequence = first >= 0xC0 && text.get(1).is_none_or(|byte| byte & 0xC0 == 0x80);
        is_sequence && self.products_at(text, 0) & self.products_at(text, 1) & self.products_at(text, 2) != 0
    }

    /// Returns the products that have the byte at an index, or all of them if it is missing.
    #[inline]
    fn products_at(&self, text: &[u8], index: usize) -> u8 {
        match text.get(index) {
            Some(byte) => self.tables[index].entries[usize::from(byte & 63)],
            None => u8::MAX,
        }
    }

    /// Four words of 64 bits: for the bytes `00..=3F`, the bytes `40..=7F`, the lead bytes, and the second bytes of
    /// sequences of 2 bytes.
    #[cfg(utf8_codec_vectors = "x86_64")]
    pub(crate) const fn words(&self) -> [u64; 4] {
        self.words
    }

    /// The tables for a lead byte and the two bytes after it.
    #[cfg(utf8_codec_vectors = "x86_64")]
    pub(crate) const fn tables(&self) -> &[Table; 3] {
        &self.tables
    }
}

impl Product {
    const fn size(&self) -> u64 {
        let [a, b, c] = self.0;
        a.count_ones() as u64 * b.count_ones() as u64 * c.count_ones() as u64
    }

    /// Returns the number of sequences that are in the smallest product that contains both, but in neither of them.
    const fn growth(&self, other: &Self) -> u64 {
        let [a, b, c] = self.0;
        let [d, e, f] = other.0;
        let union = Self([a | d, b | e, c | f]);
        let both = Self([a & d, b & e, c & f]);
        union.size() + both.size() - self.size() - other.size()
    }
}
