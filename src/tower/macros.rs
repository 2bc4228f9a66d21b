//! A macro for the methods that both layers have.

/// The settings that both layers have, for a struct with `config: Arc<LayerConfig>`.
macro_rules! shared_settings {
    (layer: $layer:literal, rules: $rules:literal, on_rejection: $on_rejection:literal) => {
        fn with(mut self, change: impl FnOnce(&mut LayerConfig)) -> Self {
            change(Arc::make_mut(&mut self.config));
            self
        }

        /// Sets which bodies are checked and how.
        #[doc = $rules]
        #[must_use]
        pub fn with_rules(self, rules: BodyRules) -> Self {
            self.with(|config| config.rules = rules)
        }

        /// Sets whether the values of all header fields are checked, and of all trailer fields independently of the
        /// [rules](Self::with_rules), with [`check_field`](crate::http::check_field).
        #[must_use]
        pub fn with_header_check(self, check: bool) -> Self {
            self.with(|config| config.fields.headers = check)
        }

        /// Sets the counters.
        #[must_use]
        pub fn with_counters(self, counters: &HttpCounters) -> Self {
            self.with(|config| config.counters = counters.clone())
        }

        #[doc = $on_rejection]
        ///
        /// For gRPC, return the fields of [`Rejection::grpc_fields`] if [`Rejection::is_grpc`].
        ///
        /// Its body is complete: `Bytes`, a `String`, a `Vec<u8>`, or a [`ProblemBody`](crate::http::ProblemBody) to
        /// which header fields are added.
        ///
        /// ```
        /// use http::Response;
        #[doc = concat!("use utf8_codec::tower::", $layer, ";")]
        ///
        #[doc = concat!("let layer = ", $layer, "::new().with_rejection_response(|rejection| {")]
        ///     let mut response = Response::new(format!("{rejection}\n"));
        ///     *response.status_mut() = rejection.status();
        ///     response
        /// });
        /// # drop(layer);
        /// ```
        #[must_use]
        pub fn with_rejection_response<F, T>(self, respond: F) -> Self
        where
            F: Fn(&Rejection) -> Response<T> + Send + Sync + 'static,
            T: Into<Bytes>,
        {
            self.with(|config| {
                config.on_rejection = Some(Arc::new(move |rejection| respond(rejection).map(Into::into)))
            })
        }
    };
}
