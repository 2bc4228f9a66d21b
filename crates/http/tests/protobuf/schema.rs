//! `Schema`: which fields are strings, by the version of the language and its features.

use utf8_codec_http::protobuf::{Schema, SchemaError, StringFilter};

use crate::support::Rng;
use crate::support::protobuf::{
    INT32, MESSAGE, Model, STRING, bytes, descriptor, field, file, message, number, schema_of,
};

/// Whether an ill-formed string in this field of the message is an error.
fn is_checked(schema: &Schema, message_name: &str, number: u32) -> bool {
    let mut validator = StringFilter::new(schema, message_name).unwrap();
    validator.validate(&message([(number, &b"\xFF"[..])])).is_err()
}

/// A `FeatureSet` in the options of a file (50) or of a field (21).
fn features(options: u32, feature: u32, value: u64) -> Vec<u8> {
    let mut set = Vec::new();
    number(&mut set, feature, value);
    message([(options, &set[..])])
}

#[test]
fn features_of_a_field_override_those_of_its_file() {
    const UTF8_VALIDATION: u32 = 4;
    for (file_feature, field_feature, expected) in
        [(None, None, true), (Some(3), None, false), (Some(3), Some(2), true), (None, Some(3), false)]
    {
        let mut s = field("s", 1, STRING, "");
        if let Some(value) = field_feature {
            bytes(&mut s, 8, features(21, UTF8_VALIDATION, value));
        }
        let mut file = file("editions", "", &[descriptor("M", &[s])]);
        number(&mut file, 14, 1000);
        if let Some(value) = file_feature {
            bytes(&mut file, 8, features(50, UTF8_VALIDATION, value));
        }
        assert_eq!(is_checked(&schema_of(&file), "M", 1), expected, "{file_feature:?} {field_feature:?}");
    }
}

#[test]
fn a_set_that_protoc_wrote_is_compiled() {
    let schema = Schema::from_descriptor_set(include_bytes!("editions.bin")).unwrap();
    assert_eq!(schema.method("/e.S/Do").unwrap().request(), "e.M");
    let inside = |number, inner: &[u8]| message([(number, inner)]);
    let (first, second) = (inside(1, b"\xFF"), inside(2, b"\xFF"));
    for (input, expected) in [
        (first.clone(), true),
        (second.clone(), false),
        (inside(3, &first), true),
        (inside(3, &second), true),
        (inside(4, &first), false),
        (inside(4, &second), false),
        ([b"\x2B", &first[..], b"\x2C"].concat(), true),
        (inside(6, b"\xFF"), true),
        (inside(7, &first), true),
        (inside(8, b"\xFF"), true),
        (inside(9, b"\xFF"), false),
        (inside(100, b"\xFF"), true),
    ] {
        let result = StringFilter::new(&schema, "e.M").unwrap().validate(&input);
        assert_eq!(result.is_err(), expected, "{input:02X?}");
    }
}

#[test]
fn a_delimited_message_is_a_group() {
    let mut inner = field("m", 2, MESSAGE, ".M");
    bytes(&mut inner, 8, features(21, 5, 2));
    let mut file = file("editions", "", &[descriptor("M", &[field("s", 1, STRING, ""), inner])]);
    number(&mut file, 14, 1000);
    let mut validator = StringFilter::new(&schema_of(&file), "M").unwrap();
    assert_eq!(validator.validate(b"\x13\x0A\x01\xFF\x14").unwrap_err().path(), [2, 1]);
}

#[test]
fn maps_are_not_delimited() {
    let entry = [field("key", 1, STRING, ""), field("value", 2, MESSAGE, ".M")];
    let mut entry = descriptor("Entry", &entry);
    bytes(&mut entry, 7, [7 << 3, 1]);
    let fields =
        [field("s", 1, STRING, ""), field("map", 2, MESSAGE, ".M.Entry"), field("m", 3, MESSAGE, ".M")];
    let mut m = descriptor("M", &fields);
    bytes(&mut m, 3, entry);
    let mut file = file("editions", "", &[m]);
    number(&mut file, 14, 1000);
    bytes(&mut file, 8, features(50, 5, 2));
    let mut validator = StringFilter::new(&schema_of(&file), "M").unwrap();
    // What Python writes.
    validator.validate(b"\x12\x08\x0A\x01k\x12\x03\x0A\x01a\x1B\x0A\x01b\x1C").unwrap();
    assert_eq!(validator.validate(b"\x12\x05\x12\x03\x0A\x01\xFF").unwrap_err().names(), "map.value.s");
}

#[test]
fn extensions_are_fields_of_the_message_that_they_extend() {
    let mut extension = field("e", 1000, STRING, "");
    bytes(&mut extension, 2, ".p.M");
    let mut proto = file("proto3", "p", &[descriptor("M", &[field("n", 1, INT32, "")])]);
    bytes(&mut proto, 7, extension);
    let schema = schema_of(&proto);
    assert!(is_checked(&schema, "p.M", 1000) && !is_checked(&schema, "p.M", 1001));
}

#[test]
fn an_extension_of_a_message_set_may_have_a_number_above_those_of_fields() {
    let of = |number: u32, is_extension: bool| {
        let mut extension = field("e", number, MESSAGE, ".p.M");
        let mut set = descriptor("Set", &[]);
        bytes(&mut set, 7, [1 << 3, 1]); // `message_set_wire_format`
        let m = descriptor("M", &[field("s", 1, STRING, "")]);
        let mut proto = match is_extension {
            true => file("proto2", "p", &[m, set]),
            false => file("proto2", "p", &[m, descriptor("Set", &[extension.clone()])]),
        };
        if is_extension {
            bytes(&mut extension, 2, ".p.Set");
            bytes(&mut proto, 7, extension);
        }
        Schema::from_descriptor_set(&message([(1, &proto[..])])).map(drop)
    };
    for number in [1 << 29, (1 << 31) - 1] {
        assert_eq!(of(number, true), Ok(()), "{number}");
        assert!(matches!(of(number, false), Err(SchemaError::Malformed { .. })), "{number}");
    }
    assert!(matches!(of(1 << 31, true), Err(SchemaError::Malformed { .. })));
    assert!(matches!(of(0, true), Err(SchemaError::Malformed { .. })));
}

#[test]
fn strings_that_java_verifies_are_checked() {
    let java = |options: u32, value: u64| {
        let mut set = Vec::new();
        number(&mut set, 2, value);
        let set = message([(1001, &set[..])]);
        message([(options, &set[..])])
    };
    let (s, m) = (field("s", 1, STRING, ""), |s: &[u8]| descriptor("M", &[s.to_vec()]));
    // proto2 with `java_string_check_utf8`.
    for (value, expected) in [(0, false), (1, true)] {
        let mut proto = file("proto2", "", &[m(&s)]);
        let mut options = Vec::new();
        number(&mut options, 27, value);
        bytes(&mut proto, 8, options);
        assert_eq!(is_checked(&schema_of(&proto), "M", 1), expected, "{value}");
    }
    // An edition with NONE for all, and with DEFAULT (1) or VERIFY (2) for Java.
    for (file_value, field_value, expected) in [
        (None, None, false),
        (Some(1), None, false),
        (Some(2), None, true),
        (None, Some(2), true),
        (Some(2), Some(1), false),
    ] {
        let mut s = s.clone();
        if let Some(value) = field_value {
            bytes(&mut s, 8, java(21, value));
        }
        let mut proto = file("editions", "", &[m(&s)]);
        number(&mut proto, 14, 1000);
        bytes(&mut proto, 8, features(50, 4, 3));
        if let Some(value) = file_value {
            bytes(&mut proto, 8, java(50, value));
        }
        assert_eq!(is_checked(&schema_of(&proto), "M", 1), expected, "{file_value:?} {field_value:?}");
    }
}

#[test]
fn methods_are_found_by_their_path() {
    let mut proto = file("proto3", "p", &[descriptor("A", &[]), descriptor("B", &[])]);
    let method = message([(1, &b"Do"[..]), (2, b".p.A"), (3, b".p.B")]);
    bytes(&mut proto, 6, message([(1, &b"S"[..]), (2, &method)]));
    let schema = schema_of(&proto);
    let method = schema.method("/p.S/Do").unwrap();
    assert_eq!((method.request(), method.response()), ("p.A", "p.B"));
    assert_eq!([schema.method("p.S/Do"), schema.method("/p.S/Other"), schema.method("/")], [None; 3]);
}

#[test]
fn a_set_that_cannot_be_used_is_an_error() {
    let m = descriptor("M", &[field("s", 1, STRING, "")]);
    let of = |file: &[u8]| Schema::from_descriptor_set(&message([(1, file)])).map(drop);
    assert_eq!(of(&file("proto3", "p", &[m.clone(), m.clone()])), Err(SchemaError::Duplicate("p.M".into())));
    let user = descriptor("U", &[field("m", 1, MESSAGE, ".p.M")]);
    assert_eq!(of(&file("proto3", "p", &[user])), Err(SchemaError::Missing("p.M".into())));
    let nested =
        (0..101).fold(m.clone(), |inner, _| [&b"\x0A\x01M"[..], &message([(3, &inner[..])])].concat());
    assert_eq!(of(&file("proto3", "", &[nested])), Err(SchemaError::TooDeep));
    assert_eq!(of(b"\x0F"), Err(SchemaError::Malformed { offset: 2 }));
    let numberless = descriptor("M", &[field("s", 0, STRING, "")]);
    assert!(matches!(of(&file("proto3", "", &[numberless])), Err(SchemaError::Malformed { .. })));
    let large = vec![0; Schema::MAX_LENGTH + 1];
    assert_eq!(Schema::from_descriptor_set(&large).map(drop), Err(SchemaError::TooLarge));
}

#[test]
fn full_names_have_a_limit_together() {
    let package = "p".repeat(Schema::MAX_LENGTH / 16);
    for (count, expected) in [(7, Ok(())), (8, Err(SchemaError::TooLarge))] {
        let names: Vec<_> = (0..count).map(|index| format!("N{index}")).collect();
        let messages: Vec<_> = names.iter().map(|name| descriptor(name, &[])).collect();
        let methods = names.iter().map(|name| message([(1, name.as_bytes()), (2, b".m.M"), (3, b".m.M")]));
        let service = methods.fold(message([(1, &b"S"[..])]), |mut service, method| {
            bytes(&mut service, 2, method);
            service
        });
        let mut long = file("proto3", &package, &messages);
        bytes(&mut long, 6, service);
        let types = file("proto3", "m", &[descriptor("M", &[])]);
        let set = message([(1, &types[..]), (1, &long)]);
        assert_eq!(Schema::from_descriptor_set(&set).map(drop), expected, "{count}");
    }
}

#[test]
fn sets_can_be_joined() {
    let file = file("proto3", "p", &[descriptor("M", &[field("s", 1, STRING, "")])]);
    let set = message([(1, &file[..])]);
    assert!(Schema::from_descriptor_set(&[&set[..], &set[..]].concat()).unwrap().has_message("p.M"));
}

#[test]
fn wrong_bytes_in_a_set_do_not_panic() {
    let mut rng = Rng::new(2);
    let mut errors = 0;
    for _ in 0..3000 {
        let mut set = message([(1, &Model::random(&mut rng).file()[..])]);
        let at = rng.below(set.len());
        set[at] = rng.next() as u8;
        errors += u32::from(Schema::from_descriptor_set(&set).is_err());
    }
    assert!((100..2900).contains(&errors), "{errors}");
}
