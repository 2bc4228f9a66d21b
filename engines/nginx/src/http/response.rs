//! The filters of response headers and bodies. `r` is the request of the hook everywhere.

use core::cell::RefCell;
use std::sync::Arc;

use ngx::ffi::*;
use utf8_codec_engines::plan::{Content, Outcome, decide};
use utf8_codec_engines::{MessageKind, MessageReason, from_utf8};

use super::state::{MODULE, NEXT, Reply, checked, keep_answer, log_line, new_reply, panicked, reply, shared};
use crate::exchange::Answer;
use crate::ffi::chain::{Chain, consume, rewrite, slices};
use crate::ffi::fields::{of_response, remove_of_response, set_answer};
use crate::ffi::{AGAIN, ERROR, OK, bytes, guard, log};

unsafe fn next_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.0.map_or(ERROR, |next| next(r)) }
}

unsafe fn next_body(r: *mut ngx_http_request_t, chain: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the filter was registered before this one.
    unsafe { NEXT.1.map_or(ERROR, |next| next(r, chain)) }
}

/// Ends a response whose header was not sent, with the answer.
unsafe fn finalize(r: *mut ngx_http_request_t, answer: Answer) -> ngx_int_t {
    // SAFETY: the request is that of the hook, and nothing is borrowed.
    unsafe {
        let status = keep_answer(r, answer);
        ngx_http_filter_finalize_request(r, MODULE, status)
    }
}

pub(super) unsafe extern "C" fn header_filter(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    guard(|| unsafe { check_header(r) }, || unsafe { panicked_in_header(r) })
}

unsafe fn panicked_in_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        let status = panicked(r);
        ngx_http_filter_finalize_request(r, MODULE, status)
    }
}

unsafe fn check_header(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook. Nothing is borrowed while nginx or the next filter runs.
    unsafe {
        if let Some(cell) = reply(r) {
            let mut state = cell.borrow_mut();
            // A redirection by `error_page` has another status.
            let status = (*r).headers_out.status;
            state.answer.take_if(|answer| usize::from(answer.status) != status);
            if let Some(answer) = &state.answer {
                // The client may still send. Without this it could lose the answer to a reset.
                (*r).set_lingering_close(1);
                if set_answer(r, answer).is_none() {
                    return ERROR;
                }
                state.is_answering = true;
            }
            drop(state);
            return next_header(r);
        }
        let Some(checked) = checked(r) else { return next_header(r) };
        let settings = &checked.settings;
        let status = u16::try_from((*r).headers_out.status).unwrap_or(0);
        if status == 101 && !settings.only_reports() {
            let Some(shared) = shared(r, Some(Arc::clone(&checked))) else { return ERROR };
            let answer = shared.borrow_mut().0.reject_tunnel(MessageKind::Response);
            log_line(r, shared);
            return finalize(r, answer);
        }
        if !settings.covers(MessageKind::Response) {
            return next_header(r);
        }
        let Some(shared) = shared(r, Some(Arc::clone(&checked))) else { return ERROR };
        let is_head = (*r).method == NGX_HTTP_HEAD as ngx_uint_t;
        let has_no_body = is_head || (*r).header_only() != 0 || matches!(status, 100..=199 | 204 | 304);
        let content = Content::of_response(!has_no_body, is_head, status);
        let mut content_type = Vec::new();
        let mut fields = of_response(r, &mut content_type);
        let response = MessageKind::Response;
        let path = from_utf8(bytes((*r).unparsed_uri)).ok();
        let plan = match decide(settings, response, fields.iter().copied(), content, path) {
            Ok(plan) => plan,
            Err(reason) if settings.only_reports() => {
                shared.borrow_mut().0.record.set("reported", response, Some(reason));
                log_line(r, shared);
                return next_header(r);
            }
            Err(reason) => {
                let answer = shared.borrow_mut().0.reject(response, reason);
                log_line(r, shared);
                return finalize(r, answer);
            }
        };
        let is_checked = !plan.check.is_passing();
        if (*r).allow_ranges() != 0 {
            // nginx cuts ranges out of a body later, in the header and before this filter in the body. The fields of HEAD are
            // those of GET.
            fields.push((b"content-range", b"bytes 0-0/1"));
            let ranged = decide(settings, response, fields.iter().copied(), Content::Body, path);
            if !plan.removed.is_empty() || !ranged.is_ok_and(|plan| plan.check.is_passing()) {
                (*r).set_allow_ranges(0);
            }
        }
        drop(fields);
        remove_of_response(r, &plan.removed);
        if !is_checked {
            return next_header(r);
        }
        (*r).set_filter_need_in_memory(1);
        let is_held = settings.is_buffered() && !settings.only_reports() && r == (*r).main;
        let new = Reply {
            check: Some(Box::new(plan.check)),
            checked: Some(checked),
            held: is_held.then(Vec::new),
            ..Reply::default()
        };
        if new_reply(r, new).is_none() {
            return ERROR;
        }
        if is_held { OK } else { next_header(r) }
    }
}

pub(super) unsafe extern "C" fn body_filter(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook.
    guard(|| unsafe { check_body(r, from) }, || guard(|| unsafe { panicked_in_body(r) }, || ERROR))
}

unsafe fn panicked_in_body(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        let is_held =
            reply(r).is_some_and(|reply| reply.try_borrow().is_ok_and(|reply| reply.held.is_some()));
        let status = panicked(r);
        if is_held {
            return ngx_http_filter_finalize_request(r, MODULE, status);
        }
        if let Some(reply) = reply(r) {
            reply.borrow_mut().is_over = true;
        }
        ERROR
    }
}

unsafe fn check_body(r: *mut ngx_http_request_t, from: *mut ngx_chain_t) -> ngx_int_t {
    // SAFETY: the pointers are those of the hook. Nothing is borrowed while nginx or the next filter runs.
    unsafe {
        let Some(cell) = reply(r) else { return next_body(r, from) };
        let mut state = cell.borrow_mut();
        let current = &mut *state;
        let mut chain = Chain::new((*r).pool);
        // A request may be rejected while its response is sent.
        if current.is_over || current.answer.is_some() && !current.is_answering {
            drop(state);
            consume(from);
            return end_response(r, &chain);
        }
        if let Some(answer) = &current.answer {
            let body = answer.body.clone().into_bytes();
            consume(from);
            if core::mem::replace(&mut current.has_answered, true) || from.is_null() {
                drop(state);
                return if from.is_null() { next_body(r, from) } else { OK };
            }
            if chain.insert(&mut current.inserted, body).is_none()
                || chain.end(r == (*r).main, true).is_none()
            {
                return ERROR;
            }
            drop(state);
            return next_body(r, chain.first());
        }
        if (*r).headers_out.status == NGX_HTTP_PARTIAL_CONTENT as ngx_uint_t {
            // A range that nginx cut out, which `content_ranges` lets pass. Or one that was decided by its header.
            if (*r).allow_ranges() != 0 {
                current.check = None;
            }
        }
        if from.is_null() && current.held.is_some() {
            // The header was not sent.
            return OK;
        }
        let check = current.check.as_mut().filter(|check| !from.is_null() && !check.is_passing());
        let Some(check) = check else {
            drop(state);
            return next_body(r, from);
        };
        let Some(shared) = shared(r, None) else { return ERROR };
        let read = slices(from);
        if read.has_file {
            drop(state);
            log(NGX_LOG_ALERT, (*(*r).connection).log, "utf8_codec: a response is not in memory");
            return ERROR;
        }
        let end = read.has_last || (r != (*r).main && read.has_last_in_chain);
        let outcome = check.feed(&read.slices, end);
        let mut answer = shared.borrow_mut().0.observe(MessageKind::Response, &outcome);
        if let Some(held) = &mut current.held {
            hold(held, &read.slices, &outcome);
            let limit = current.checked.as_ref().map_or(0, |checked| checked.buffer_size);
            if answer.is_none() && held.len() > limit {
                let reason = MessageReason::TooLong { limit }.into();
                answer = Some(shared.borrow_mut().0.reject(MessageKind::Response, reason));
            }
            let data = if end { core::mem::take(held) } else { Vec::new() };
            drop(state);
            consume(from);
            log_line(r, shared);
            if let Some(answer) = answer {
                return finalize(r, answer);
            }
            return if end { write_held(r, cell, data) } else { OK };
        }
        let is_changed = answer.is_some() || !outcome.is_unchanged();
        if is_changed && rewrite(&mut chain, from, &outcome, &mut current.inserted).is_none() {
            return ERROR;
        }
        if answer.is_some() {
            current.is_over = true;
        }
        drop(state);
        log_line(r, shared);
        if answer.is_some() {
            chain.flush();
            chain.unmark_end();
            return end_response(r, &chain);
        }
        if !is_changed {
            return next_body(r, from);
        }
        let rc = if chain.is_empty() { OK } else { next_body(r, chain.first()) };
        cell.borrow_mut().inserted.release_written();
        rc
    }
}

/// Appends the content of slices after the changes of an outcome.
fn hold(held: &mut Vec<u8>, slices: &[&[u8]], outcome: &Outcome) {
    held.extend_from_slice(outcome.head.as_slice());
    let mut left = outcome.kept;
    for slice in slices {
        let kept = slice.len().min(left);
        held.extend_from_slice(&slice[..kept]);
        left -= kept;
    }
    held.extend_from_slice(&outcome.tail);
}

/// Writes the header and the body of a response that was held.
unsafe fn write_held(r: *mut ngx_http_request_t, cell: &RefCell<Reply>, data: Vec<u8>) -> ngx_int_t {
    // SAFETY: the request is that of the hook. Nothing is borrowed while the next filters run.
    unsafe {
        if (*r).headers_out.content_length_n >= 0 {
            (*r).headers_out.content_length_n = data.len() as i64;
        }
        let mut chain = Chain::new((*r).pool);
        {
            let mut reply = cell.borrow_mut();
            (reply.held, reply.check) = (None, None);
            if chain.insert(&mut reply.inserted, data).is_none() || chain.end(true, true).is_none() {
                return ERROR;
            }
        }
        let rc = next_header(r);
        if rc == ERROR || rc > OK || (*r).header_only() != 0 {
            return rc;
        }
        next_body(r, chain.first())
    }
}

/// Ends a response after the text before an error: the connection or the stream of HTTP/2 is closed without the end of the
/// body.
unsafe fn end_response(r: *mut ngx_http_request_t, chain: &Chain) -> ngx_int_t {
    // SAFETY: the request is that of the hook.
    unsafe {
        let connection = (*r).connection;
        // Also the header may not be written yet.
        let has_output = !chain.is_empty() || !(*r).out.is_null() || (*connection).buffered() != 0;
        if has_output && next_body(r, chain.first()) == ERROR {
            return ERROR;
        }
        if (*connection).buffered() != 0 { AGAIN } else { ERROR }
    }
}
