//! Encodings that documents declare inside themselves.

use core::ops::Range;

use utf8_codec_media::declared::{DeclarationSearch, DocumentKind, find};

/// Checks that every prefix gives the result of the whole document, or needs more.
fn label(kind: DocumentKind, document: &[u8]) -> Option<(Vec<u8>, Range<usize>)> {
    let whole = find(kind, document, true);
    assert_ne!(whole, DeclarationSearch::NeedMore);
    for end in 0..=document.len() {
        let found = find(kind, &document[..end], false);
        assert!(found == whole || found == DeclarationSearch::NeedMore, "{end}: {found:?}, not {whole:?}");
        assert_ne!(find(kind, &document[..end], true), DeclarationSearch::NeedMore);
    }
    let mut longer = document.to_vec();
    longer.resize(kind.max_prefix(), b' ');
    assert_ne!(find(kind, &longer, false), DeclarationSearch::NeedMore);
    match whole {
        DeclarationSearch::Found(found) => Some((found.label.to_vec(), found.range)),
        _ => None,
    }
}

fn check(kind: DocumentKind, document: &str, expected: Option<&str>) {
    let found = label(kind, document.as_bytes());
    if let Some((label, range)) = &found
        && label != b"UTF-8"
        && !document.contains("X-User-Defined")
    {
        assert_eq!(label, &document.as_bytes()[range.clone()], "{document}");
    }
    let found = found.map(|(label, _)| String::from_utf8(label).expect("ASCII"));
    assert_eq!(found.as_deref(), expected, "{document}");
}

#[test]
fn xml_declares_an_encoding_in_its_declaration() {
    for (document, expected) in [
        ("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a/>", Some("iso-8859-1")),
        ("<?xml version = '1.0'\r\n\tencoding\t=\n'Big5' standalone='no' ?>", Some("Big5")),
        ("<?xml encoding='x'?>", Some("x")),
        ("<?xml version=\"1.0\"?><a encoding=\"b\"/>", None),
        (" <?xml version=\"1.0\" encoding=\"b\"?>", None),
        ("<?xml-stylesheet encoding=\"b\"?>", None),
        ("<?xml version=\"1.0\"encoding=\"b\"?>", None),
        ("<?xml version=\"1.0\" encoding=b?>", None),
        ("<?xml version=\"1.0\" encoding=\"b'?>", None),
        ("<?XML version=\"1.0\" encoding=\"b\"?>", None),
        ("<a/>", None),
        ("", None),
    ] {
        check(DocumentKind::Xml, document, expected);
    }
}

#[test]
fn html_declares_an_encoding_in_a_meta_element() {
    for (document, expected) in [
        ("<html><head><meta charset=\"windows-1251\"><title>", Some("windows-1251")),
        ("<META\nx=y CharSet=big5/>", None),
        ("<meta charset=big5 >", Some("big5")),
        ("<meta/charset='\tgbk '>", Some("gbk")),
        ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", Some("koi8-r")),
        ("<meta content='text/html; charset = \"koi8-r\";x' http-equiv=\"content-type\">", Some("koi8-r")),
        ("<meta content='charset charset=big5;koi8-r' http-equiv=content-type>", Some("big5")),
        ("<meta http-equiv=content-type content='text/html; charset=\"koi8-r'>", None),
        ("<meta content='text/html; charset=koi8-r'>", None),
        ("<meta http-equiv=refresh content='text/html; charset=koi8-r'>", None),
        ("<meta charset='' http-equiv=content-type content='charset=koi8-r'><meta charset=gbk>", Some("gbk")),
        ("<meta charset=big5 charset=koi8-r>", Some("big5")),
        ("<!-- <meta charset=big5> --><meta charset=koi8-r>", Some("koi8-r")),
        ("<!--><meta charset=koi8-r>", Some("koi8-r")),
        ("<a title='<meta charset=big5>'><meta charset=koi8-r>", Some("koi8-r")),
        ("</a title='<meta charset=big5>'><meta charset=koi8-r>", Some("koi8-r")),
        ("<!doctype '<meta charset=big5>'><meta charset=koi8-r>", Some("koi8-r")),
        ("<metal charset=big5><meta charset=koi8-r>", Some("koi8-r")),
        ("< meta charset=big5><meta charset=koi8-r>", Some("koi8-r")),
        ("<meta charset=utf-16>", Some("UTF-8")),
        ("<meta charset=X-User-Defined>", Some("windows-1252")),
        // An unknown label is ignored.
        ("<meta charset=klingon><meta charset=big5>", Some("big5")),
        ("<meta charset=utf_8><meta charset=utf-32><meta charset=Shift_JIS>", Some("Shift_JIS")),
        ("<meta charset=klingon>", None),
        (
            "<meta charset=klingon http-equiv=content-type content='charset=big5'><meta charset=gbk>",
            Some("gbk"),
        ),
        ("<meta http-equiv=content-type content='charset=klingon'><meta charset=gbk>", Some("gbk")),
        ("<?xml version='1.0' encoding='klingon'?><html>", None),
        ("<?xml version='1.0' encoding='ibm866'?><meta charset=klingon>", Some("ibm866")),
        ("<?xml version='1.0' encoding='ibm866'?><html>", Some("ibm866")),
        ("<?xml version='1.0' encoding='ibm866'?><meta charset=koi8-r>", Some("koi8-r")),
        ("<p>text", None),
        ("<meta charset=unfinished", None),
    ] {
        check(DocumentKind::Html, document, expected);
    }
    let late = [&[b' '; 1010][..], b"<meta charset=big5>"].concat();
    assert_eq!(label(DocumentKind::Html, &late), None);
}

#[test]
fn a_style_sheet_declares_an_encoding_in_one_form() {
    for (document, expected) in [
        ("@charset \"iso-8859-15\";", Some("iso-8859-15")),
        ("@charset \"utf-16be\";", Some("UTF-8")),
        ("@charset \" GBK \";", Some("GBK")),
        ("@charset \"klingon\";", None),
        ("@charset \"utf_8\";", None),
        ("@charset 'iso-8859-15';", None),
        ("@CHARSET \"iso-8859-15\";", None),
        ("@charset \"iso-8859-15\" ;", None),
        (" @charset \"iso-8859-15\";", None),
    ] {
        check(DocumentKind::Css, document, expected);
    }
}

#[test]
fn python_declares_an_encoding_in_a_comment() {
    for (document, expected) in [
        ("# -*- coding: latin-1 -*-\n", Some("latin-1")),
        ("#!/usr/bin/python\r\n# vim: set fileencoding=cp1252 :\n", Some("cp1252")),
        ("\n \t# coding=\tkoi8_r", Some("koi8_r")),
        ("# coding:\n# coding: b\n", Some("b")),
        ("# coding coding:: coding=c\n", Some("c")),
        ("#\r\r# coding: c\n", None),
        ("x = 1\n# coding: c\n", None),
        ("x = 1 # coding: c\n", None),
        ("\n\n# coding: c\n", None),
        ("# encoded\n", None),
    ] {
        check(DocumentKind::Python, document, expected);
    }
}

#[test]
fn a_catalog_declares_an_encoding_in_its_header_entry() {
    let header = "# Comment, charset=a\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n";
    for (rest, expected) in [
        ("\"Content-Type: text/plain; charset=ISO-8859-15\\n\"\n", Some("ISO-8859-15")),
        ("\"content-type: text/plain; charset=cp437\\n\"", Some("cp437")),
        ("\"Content-Type: text/plain; charset=CHARSET\\n\"\n", None),
        ("\n\nmsgid \"a\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=b\\n\"\n", None),
    ] {
        check(DocumentKind::Gettext, &[header, rest].concat(), expected);
    }
}

#[test]
fn a_bom_and_a_byte_order_have_precedence() {
    for (document, expected) in [
        (&b"\xEF\xBB\xBF<?xml version='1.0' encoding='b'?>"[..], ("UTF-8", 0..3)),
        (b"\xFF\xFE<\0", ("UTF-16LE", 0..2)),
        (b"\xFE\xFF\0<", ("UTF-16BE", 0..2)),
        (b"<\0?\0x\0m\0", ("UTF-16LE", 0..0)),
        (b"\0<\0?\0x\0m", ("UTF-16BE", 0..0)),
    ] {
        for kind in [DocumentKind::Xml, DocumentKind::Html] {
            let found = label(kind, document);
            assert_eq!(found, Some((expected.0.as_bytes().to_vec(), expected.1.clone())), "{document:02X?}");
        }
    }
    assert_eq!(label(DocumentKind::Css, b"\xEF\xBBa"), None);
}
