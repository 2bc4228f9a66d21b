//! Macros for the methods that both layers or both services have.

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
        pub fn rules(self, rules: BodyRules) -> Self {
            self.with(|config| config.rules = rules)
        }

        /// Checks the values of all header fields, and of all trailer fields independently of the [rules](Self::rules).
        #[must_use]
        pub fn check_headers(self) -> Self {
            self.with(|config| config.fields.headers = true)
        }

        /// Sets the counters.
        #[must_use]
        pub fn counters(self, counters: &HttpCounters) -> Self {
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
        #[doc = concat!("let layer = ", $layer, "::new().on_rejection(|rejection| {")]
        ///     let mut response = Response::new(format!("{rejection}\n"));
        ///     *response.status_mut() = rejection.status();
        ///     response
        /// });
        /// # drop(layer);
        /// ```
        #[must_use]
        pub fn on_rejection<F, T>(self, respond: F) -> Self
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

/// The accessors of a service with `inner`.
macro_rules! inner_service_accessors {
    () => {
        /// Returns the inner service.
        pub const fn get_ref(&self) -> &S {
            &self.inner
        }

        /// Returns the inner service.
        pub const fn get_mut(&mut self) -> &mut S {
            &mut self.inner
        }

        /// Returns the inner service.
        pub fn into_inner(self) -> S {
            self.inner
        }
    };
}
