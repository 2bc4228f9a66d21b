//! Cases from reports.
