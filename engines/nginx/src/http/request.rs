//! The phase before the content, and the filter of request bodies. `r` is the request of the hook everywhere.

use std::sync::Arc;

use ngx::ffi::*;
use utf8_codec_engines::MessageKind;
use utf8_codec_engines::plan::range_fields;

use super::state::{NEXT, Shared, checked, keep_answer, log_line, panicked, shared};
use crate::exchange::Request;
use crate::ffi::chain::{Chain, Inserted, consume, rewrite, slices};
use crate::ffi::fields::{of_request, remove_of_request, set_length_of_request};
use crate::ffi::{DECLINED, ERROR, bytes, guard};

/// Decides once how a request is checked. Returns the status of a rejection.
unsafe fn decide(r: *mut ngx_http_request_t, shared: &Shared) -> Result<(), ngx_int_t> {
    // SAFETY: the request is that of the hook, and the fields are not used after their removal.
    unsafe {
        let has_body = (*r).headers_in.content_length_n > 0 || (*r).headers_in.chunked() != 0;
        let decision = shared.borrow_mut().0.decide(&of_request(r), has_body);
        log_line(r, shared);
        match decision {
            Ok(removed) => remove_of_request(r, &removed).ok_or(ERROR),
            Err(answer) => Err(keep_answer(r, answer)),
        }
    }
}

pub(super) unsafe extern "C" fn before_content(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    guard(|| unsafe { check_header(r) }, || unsafe { panicked(r) })
}

unsafe fn check_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        if r != (*r).main {
            return DECLINED;
        }
        let Some(checked) = checked(r) else { return DECLINED };
        let Some(shared) = shared(r, Some(Arc::clone(&checked))) else { return ERROR };
        if !checked.settings.only_reports() && bytes((*r).method_name) == b"CONNECT" {
            let answer = shared.borrow_mut().0.reject_tunnel(MessageKind::Request);
            log_line(r, shared);
            return keep_answer(r, answer);
        }
        // Also in the location of an `error_page`, by whose settings the response is checked.
        if !matches!(shared.borrow().0.request, Request::New) {
            let removed = range_fields(&checked.settings, of_request(r).into_iter());
            return remove_of_request(r, &removed).map_or(ERROR, |()| DECLINED);
        }
        decide(r, shared).err().unwrap_or(DECLINED)
    }
}

pub(super) unsafe extern "C" fn body_filter(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { check(r, from) }, || guard(|| unsafe { panicked_in_body(r) }, || ERROR))
}

unsafe fn panicked_in_body(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        let status = panicked(r);
        remove_body(r);
        status
    }
}

unsafe fn next(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.2.map_or(ERROR, |filter| filter(r, chain)) }
}

unsafe fn check(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. Nothing is borrowed while the next filter runs.
    unsafe {
        let Some(shared) = shared(r, checked(r)) else { return next(r, from) };
        // The body may be read in an earlier phase.
        if matches!(shared.borrow().0.request, Request::New)
            && let Err(status) = decide(r, shared)
        {
            (*r).set_keepalive(0);
            return status;
        }
        let mut state = shared.borrow_mut();
        let (exchange, inserted) = &mut *state;
        if exchange.reads_first {
            // The handler of the location reads the body, because only it knows where to: into a file, or one buffer.
            // It has not received anything yet.
            (*r).set_request_body_no_buffering(0);
        }
        let check = match &mut exchange.request {
            Request::Checked(check) if !check.is_passing() => check,
            // The location of an `error_page` reads the body of a request that was rejected by its fields.
            Request::Rejected(_) if (*r).internal() != 0 => {
                drop(state);
                return discard(r, from);
            }
            Request::Rejected(status) => {
                (*r).set_keepalive(0);
                return *status as ngx_int_t;
            }
            _ => {
                drop(state);
                return next(r, from);
            }
        };
        let read = slices(from);
        if read.slices.is_empty() && !read.has_last {
            drop(state);
            return next(r, from);
        }
        let outcome = check.feed(&read.slices, read.has_last);
        exchange.growth += outcome.head.as_slice().len() as i64 + outcome.tail.len() as i64;
        exchange.growth -= (outcome.len - outcome.kept) as i64;
        let answer = exchange.observe(MessageKind::Request, &outcome);
        let mut chain = Chain::new((*r).pool);
        if answer.is_none()
            && !outcome.is_unchanged()
            && rewrite(&mut chain, from, &outcome, inserted).is_none()
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
        }
        let growth = exchange.growth;
        drop(state);
        log_line(r, shared);
        if let Some(answer) = answer {
            // Otherwise nginx would read the rest of the body as the next request.
            (*r).set_keepalive(0);
            remove_body(r);
            return keep_answer(r, answer);
        }
        if read.has_last && growth != 0 && grow(r, growth).is_none() {
            return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
        }
        let is_changed = !outcome.is_unchanged();
        let rc = next(r, if is_changed { chain.first() } else { from });
        if is_changed {
            release_inserted(r, &mut shared.borrow_mut().1);
        }
        rc
    }
}

/// Releases what was inserted and is not used any more. A body in memory is needed to the end, for the next server.
unsafe fn release_inserted(r: *mut ngx_http_request_t, inserted: &mut Inserted) {
    // SAFETY: a request whose body is filtered has the structure of the body.
    unsafe {
        if (*r).request_body_no_buffering() != 0 {
            inserted.release_written();
        } else if (*(*r).request_body).bufs.is_null() {
            // The body is in a file.
            inserted.clear();
        }
    }
}

/// Adds to the length of a body that was read to its end. Returns `None` without memory.
unsafe fn grow(r: *mut ngx_http_request_t, growth: i64) -> Option<()> {
    // SAFETY: a request whose body is filtered has the structure of the body. Nothing more is read.
    unsafe {
        // From it nginx computes the length of a body over HTTP/2.
        (*(*r).request_body).received += growth;
        match (*r).headers_in.content_length_n {
            // Of HTTP/2, not known yet.
            ..0 => Some(()),
            len => set_length_of_request(r, len + growth),
        }
    }
}

/// Drops a part of the body of a rejected request. At its end the body is empty.
unsafe fn discard(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook.
    unsafe {
        // The length is known at the end.
        (*r).set_request_body_no_buffering(0);
        let has_last = slices(from).has_last;
        consume(from);
        let mut chain = Chain::new((*r).pool);
        if chain.end(has_last, false).is_none() {
            return NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t;
        }
        let rc = next(r, chain.first());
        if has_last {
            remove_body(r);
        }
        rc
    }
}

/// Removes what was read of the body of a rejected request, and its length. The location of an `error_page` may pass
/// the request to a server, which would wait for the rest.
unsafe fn remove_body(r: *mut ngx_http_request_t) {
    // SAFETY: a request whose body is filtered has the structure of the body. Nothing more is read.
    unsafe {
        let body = &mut *(*r).request_body;
        body.bufs = core::ptr::null_mut();
        body.temp_file = core::ptr::null_mut();
        body.received = 0;
        (*r).set_reading_body(0);
        (*r).headers_in.set_chunked(0);
        // Without memory the request fails anyway.
        let _ = remove_of_request(r, &["transfer-encoding"]);
        let _ = set_length_of_request(r, 0);
    }
}
