//! Header fields of a request and of a response.

use core::ptr;

use ngx::ffi::{
    NGX_HTTP_VAR_CHANGEABLE, ngx_http_core_main_conf_t, ngx_http_core_module, ngx_http_headers_out_t,
    ngx_http_request_t, ngx_http_variable_t, ngx_list_part_t, ngx_list_push, ngx_list_t, ngx_palloc,
    ngx_table_elt_t, ngx_uint_t,
};

use super::{bytes, copy, string};
use crate::exchange::Answer;

type Field<'f> = (&'f [u8], &'f [u8]);

/// Iterates over the entries of a list of fields.
///
/// # Safety
///
/// The list is valid, and is not changed meanwhile.
unsafe fn entries<'f>(list: &mut ngx_list_t) -> impl Iterator<Item = &'f mut ngx_table_elt_t> + use<'f> {
    let mut next = &raw mut list.part;
    core::iter::from_fn(move || {
        // SAFETY: the parts of a list end with a null pointer.
        let part = unsafe { next.as_ref()? };
        next = part.next;
        Some(part)
    })
    .flat_map(|part| {
        let first = part.elts.cast::<ngx_table_elt_t>();
        // SAFETY: a part has `nelts` entries.
        (0..part.nelts).map(move |index| unsafe { &mut *first.add(index) })
    })
}

/// Returns the fields of a request, and its path as `:path`.
///
/// # Safety
///
/// `r` is a request whose fields are not changed during `'f`.
pub(crate) unsafe fn of_request<'f>(r: *mut ngx_http_request_t) -> Vec<Field<'f>> {
    // SAFETY: the fields of a request are valid strings.
    unsafe {
        let path = (b":path".as_slice(), bytes((*r).unparsed_uri));
        let fields =
            entries(&mut (*r).headers_in.headers).map(|field| (bytes(field.key), bytes(field.value)));
        core::iter::once(path).chain(fields).collect()
    }
}

/// Returns the fields of a response that nginx will send. It stores some of them outside of the list.
///
/// # Safety
///
/// `r` is a request whose response is not changed during `'f`. The fields point to the response and to `content_type`.
pub(crate) unsafe fn of_response<'f>(
    r: *mut ngx_http_request_t,
    content_type: &'f mut Vec<u8>,
) -> Vec<Field<'f>> {
    // SAFETY: the fields of a response are valid strings.
    unsafe {
        let out = &mut (*r).headers_out;
        let mut fields: Vec<Field<'f>> = entries(&mut out.headers)
            .filter(|field| field.hash != 0)
            .map(|field| (bytes(field.key), bytes(field.value)))
            .collect();
        if out.content_length_n >= 0 && out.content_length.is_null() {
            // The value has no effect.
            fields.push((b"content-length", b"0"));
        }
        if out.content_type.len > 0 {
            content_type.extend_from_slice(bytes(out.content_type));
            if out.content_type_len == out.content_type.len && out.charset.len > 0 {
                content_type.extend_from_slice(b"; charset=");
                content_type.extend_from_slice(bytes(out.charset));
            }
            fields.push((b"content-type", content_type));
        }
        fields
    }
}

/// Removes fields of a request. The others are copied to a new list: nginx has pointers to entries of the old one,
/// which stays in the pool, and it cannot read a list with an empty part. Of the pointers, those are removed from which
/// nginx cuts a range out of a response. Returns `None` without memory.
///
/// # Safety
///
/// `r` is a request, and no reference to its list is used after the call.
pub(crate) unsafe fn remove_of_request(r: *mut ngx_http_request_t, names: &[impl AsRef<str>]) -> Option<()> {
    if names.is_empty() {
        return Some(());
    }
    // SAFETY: the list is valid, and the new one has room for all of its entries.
    unsafe {
        let list = &mut (*r).headers_in.headers;
        let capacity = entries(list).count().max(1);
        let first: *mut ngx_table_elt_t = ngx_palloc((*r).pool, capacity * list.size).cast();
        first.as_mut()?;
        let mut len = 0;
        for field in entries(list).filter(|field| !is_one_of(bytes(field.key), names)) {
            first.add(len).write(*field);
            len += 1;
        }
        list.part = ngx_list_part_t { elts: first.cast(), nelts: len, next: ptr::null_mut() };
        (list.last, list.nalloc) = (&raw mut list.part, capacity);
        let headers = &mut (*r).headers_in;
        for name in names.iter().map(AsRef::as_ref) {
            if name.eq_ignore_ascii_case("range") {
                headers.range = ptr::null_mut();
            } else if name.eq_ignore_ascii_case("if-range") {
                headers.if_range = ptr::null_mut();
            }
            forget_variable(r, name);
        }
    }
    Some(())
}

/// Sets the length of the body of a request, in each place where nginx keeps it: as a number, in the field, and in variables.
/// Returns `None` without memory.
///
/// # Safety
///
/// `r` is a request, and no reference to its list is used after the call.
pub(crate) unsafe fn set_length_of_request(r: *mut ngx_http_request_t, len: i64) -> Option<()> {
    const NAME: &str = "content-length";
    // SAFETY: the list is valid. nginx also has a pointer to the field, which is an entry of a list that was copied.
    unsafe {
        let headers = &mut (*r).headers_in;
        headers.content_length_n = len;
        if !headers.content_length.is_null() {
            let value = copy((*r).pool, &len.to_string())?;
            (*headers.content_length).value = value;
            for field in entries(&mut headers.headers) {
                if bytes(field.key).eq_ignore_ascii_case(NAME.as_bytes()) {
                    field.value = value;
                }
            }
        }
        forget_variable(r, NAME);
    }
    Some(())
}

/// Makes nginx read the variables of a field again. It caches their values, for example if the rewrite phase needs them.
///
/// # Safety
///
/// `r` is a request.
unsafe fn forget_variable(r: *mut ngx_http_request_t, field: &str) {
    // SAFETY: a request has a value for each variable of the configuration.
    unsafe {
        let core = *(*r).main_conf.add((&raw const ngx_http_core_module).read().ctx_index);
        let variables = &(*core.cast::<ngx_http_core_main_conf_t>()).variables;
        for (index, variable) in variables.as_slice::<ngx_http_variable_t>().iter().enumerate() {
            // The value of one that the configuration sets cannot be read again.
            let is_set = variable.flags & NGX_HTTP_VAR_CHANGEABLE as ngx_uint_t != 0;
            if !is_set && is_variable_of(bytes(variable.name), field) {
                let value = &mut *(*r).variables.add(index);
                value.set_valid(0);
                value.set_not_found(0);
            }
        }
    }
}

/// Whether a variable has the value of a field: `$content_length` and `$http_content_length` that of `Content-Length`.
fn is_variable_of(variable: &[u8], field: &str) -> bool {
    let name =
        variable.strip_prefix(b"http_").or_else(|| (variable == b"content_length").then_some(variable));
    let field = field.bytes().map(|byte| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() });
    name.is_some_and(|name| name.iter().copied().eq(field))
}

fn is_one_of(name: &[u8], names: &[impl AsRef<str>]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other.as_ref().as_bytes()))
}

/// Removes fields of a response, also those that nginx would add.
///
/// # Safety
///
/// `r` is a request whose response header was not yet sent.
pub(crate) unsafe fn remove_of_response(r: *mut ngx_http_request_t, names: &[String]) {
    // SAFETY: the list and the pointers to its entries are valid.
    unsafe {
        let out = &mut (*r).headers_out;
        for field in entries(&mut out.headers).filter(|field| is_one_of(bytes(field.key), names)) {
            field.hash = 0;
        }
        if is_one_of(b"content-length", names) {
            out.content_length_n = -1;
            out.content_length = ptr::null_mut();
        }
        if is_one_of(b"etag", names) {
            out.etag = ptr::null_mut();
        }
    }
}

/// Appends a field to a response.
///
/// # Safety
///
/// The strings live as long as the request.
unsafe fn push(out: &mut ngx_http_headers_out_t, name: &str, value: &str) -> Option<()> {
    // SAFETY: the strings live as long as the request, and `ngx_list_push` returns an entry or a null pointer.
    unsafe {
        let field: *mut ngx_table_elt_t = ngx_list_push(&mut out.headers).cast();
        *field.as_mut()? = ngx_table_elt_t {
            hash: 1,
            key: string(name),
            value: string(value),
            lowcase_key: name.as_ptr().cast_mut(),
        };
    }
    Some(())
}

/// Replaces the header of a response by that of an answer.
///
/// # Safety
///
/// `r` is a request whose response header was not yet sent. The answer lives as long as the request.
pub(crate) unsafe fn set_answer(r: *mut ngx_http_request_t, answer: &Answer) -> Option<()> {
    // SAFETY: the strings live as long as the request, and `ngx_list_push` returns an entry or a null pointer.
    unsafe {
        let out = &mut (*r).headers_out;
        let mut content_type = answer.content_type;
        out.content_length_n = answer.body.len() as i64;
        if let Some(fields) = &answer.grpc {
            out.status = 200;
            out.status_line.len = 0;
            out.content_length_n = -1;
            (*r).set_header_only(1);
            for (name, value) in fields.iter() {
                if *name == "content-type" {
                    content_type = value;
                    continue;
                }
                push(out, name, value)?;
            }
        } else if let Some(codings) = answer.accept_encoding {
            push(out, "accept-encoding", codings)?;
        }
        out.content_type = string(content_type);
        out.content_type_len = content_type.len();
        out.content_type_lowcase = ptr::null_mut();
        out.charset.len = 0;
        Some(())
    }
}
