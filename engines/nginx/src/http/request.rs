//! The phase before the content, and the filter of request bodies. `r` is the request of the hook everywhere.

use ngx::ffi::*;
use utf8_codec::http::MessageKind;

use super::state::{NEXT, Shared, checked, keep_answer, log_line, panicked, shared};
use crate::exchange::Request;
use crate::ffi::chain::{Chain, Inserted, rewrite, slices};
use crate::ffi::fields::{of_request, remove_of_request};
use crate::ffi::{DECLINED, DONE, ERROR, guard};

/// Decides once how a request is checked. Returns whether its body is read first, or the status of a rejection.
unsafe fn decide(r: *mut ngx_http_request_t, shared: &Shared) -> Result<bool, ngx_int_t> {
    // SAFETY: the request is that of the hook, and the fields are not used after their removal.
    unsafe {
        let has_body = (*r).headers_in.content_length_n > 0 || (*r).headers_in.chunked() != 0;
        let decision = shared.borrow_mut().0.decide(&of_request(r), has_body);
        log_line(r, shared);
        match decision {
            Ok(plan) => {
                remove_of_request(r, &plan.untrue).ok_or(ERROR)?;
                Ok(plan.reads_first)
            }
            Err(answer) => Err(keep_answer(r, answer)),
        }
    }
}

pub(super) unsafe extern "C" fn before_content(r: *mut ngx_http_request_t) -> ngx_int_t {
    let hook = || {
        // SAFETY: the request is that of the hook. Nothing is borrowed while nginx reads the body.
        unsafe {
            if r != (*r).main {
                return DECLINED;
            }
            let Some(checked) = checked(r) else { return DECLINED };
            let Some(shared) = shared(r, Some(checked)) else { return ERROR };
            // Also in the location of an `error_page`.
            if !matches!(shared.borrow().0.request, Request::New) {
                return DECLINED;
            }
            match decide(r, shared) {
                Err(status) => return status,
                Ok(false) => return DECLINED,
                Ok(true) => {}
            }
            let rc = ngx_http_read_client_request_body(r, Some(after_body));
            if rc >= NGX_HTTP_SPECIAL_RESPONSE as ngx_int_t {
                return rc;
            }
            ngx_http_finalize_request(r, DONE);
            DONE
        }
    };
    // SAFETY: the request is that of the hook.
    guard(hook, || unsafe { panicked(r) })
}

/// Continues with the phases of a request whose body was read.
unsafe extern "C" fn after_body(r: *mut ngx_http_request_t) {
    // SAFETY: the request is that of the hook.
    unsafe {
        (*r).write_event_handler = Some(ngx_http_core_run_phases);
        ngx_http_core_run_phases(r);
    }
}

pub(super) unsafe extern "C" fn body_filter(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { check(r, from) }, || unsafe { panicked(r) })
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
        let check = match &mut exchange.request {
            Request::Checked(check) if !check.is_passing() => check,
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
        if read.has_last {
            set_length(r, exchange.growth);
        }
        drop(state);
        log_line(r, shared);
        if let Some(answer) = answer {
            // Otherwise nginx would read the rest of the body as the next request.
            (*r).set_keepalive(0);
            return keep_answer(r, answer);
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

/// Sets the length that nginx tells the server.
unsafe fn set_length(r: *mut ngx_http_request_t, growth: i64) {
    // SAFETY: a request whose body is filtered has the structure of the body. Nothing more is read.
    unsafe {
        if (*r).headers_in.content_length_n >= 0 {
            (*r).headers_in.content_length_n += growth;
        }
        // From it nginx computes the length of a body over HTTP/2.
        (*(*r).request_body).received += growth;
    }
}
