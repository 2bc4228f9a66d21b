//! Which bytes of an incomplete character are forwarded.

utf8_codec::choices! {
    "forward policy":
    /// Which bytes of an incomplete character a [`Filter`](crate::Filter) forwards.
    ///
    /// The verdicts, the errors and their offsets are the same under both policies. What was forwarded before an error
    /// is defined by the policy and does not depend on how the stream is split into slices.
    ///
    /// `Display` and `FromStr` use the names `characters` and `bytes`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ForwardPolicy {
        /// Nothing before the character is complete. Before an error all complete characters are forwarded.
        #[default]
        Characters = "characters",
        /// Its bytes as they arrive. Before an error, all bytes before the first one that cannot be part of a character
        /// are forwarded: the complete characters, and at most 3 bytes of the character that is ill-formed or truncated.
        /// For streams that are reset after an error, and for receivers that check the end of the text themselves.
        ///
        /// It has an effect only if nothing that is held could change: with
        /// [`ErrorPolicy::Strict`](utf8_codec::ErrorPolicy) and [`BomPolicy::Keep`](utf8_codec::BomPolicy), and without
        /// a [`Subset`](utf8_codec::Subset) and the escapes of [JSON](utf8_codec::json). Otherwise characters are
        /// forwarded.
        Bytes = "bytes",
    }
}
