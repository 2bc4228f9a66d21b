//! Cases from reports: forms, and fields with extended values.
