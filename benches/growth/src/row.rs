//! A row of the program.

use crate::inputs::Input;

/// Consumes an input in chunks of at most the given length.
type Consumer = Box<dyn Fn(&[u8], usize)>;

/// A consumer, its name, and its inputs.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) inputs: Vec<Input>,
    /// Whether the input is also fed byte by byte.
    pub(crate) by_byte: bool,
    pub(crate) consumer: Consumer,
}

impl Row {
    pub(crate) fn new(
        name: impl Into<String>,
        inputs: impl IntoIterator<Item = Input>,
        consumer: impl Fn(&[u8], usize) + 'static,
    ) -> Self {
        let inputs = inputs.into_iter().collect();
        Self { name: name.into(), inputs, by_byte: true, consumer: Box::new(consumer) }
    }

    /// Excludes the row from input byte by byte: for a consumer that needs the whole input or does much work for each
    /// chunk.
    pub(crate) fn whole_only(self) -> Self {
        Self { by_byte: false, ..self }
    }
}

/// Uses a value, so that the compiler does not remove its computation.
pub(crate) fn sink<T>(value: T) {
    core::hint::black_box(value);
}
