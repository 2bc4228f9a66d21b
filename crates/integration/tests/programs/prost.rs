//! The verdicts on serialized messages, compared with prost, which parses them.

use std::borrow::Cow;
use std::collections::HashMap;

use prost::{DecodeError, Message};
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{ProtobufErrorKind, StringFilter};

use crate::support::Rng;
use crate::support::protobuf::{Kind, Model, schema_of};

#[derive(Clone, PartialEq, Message)]
struct M0 {
    #[prost(string, tag = "1")]
    s: String,
    #[prost(bytes = "vec", tag = "2")]
    b: Vec<u8>,
    #[prost(message, optional, boxed, tag = "3")]
    m: Option<Box<Self>>,
    #[prost(int64, tag = "4")]
    n: i64,
    #[prost(oneof = "Choice", tags = "5, 6")]
    choice: Option<Choice>,
    #[prost(map = "string, string", tag = "7")]
    map: HashMap<String, String>,
    #[prost(group, optional, boxed, tag = "8")]
    g: Option<Box<Self>>,
    #[prost(string, repeated, tag = "100")]
    list: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Choice {
    #[prost(string, tag = "5")]
    S(String),
    #[prost(message, tag = "6")]
    M(Box<M0>),
}

fn model() -> Model {
    use Kind::*;
    let fields = [String, Bytes, Message(0), Number, String, Message(0), Message(1), Group(0)];
    let fields = (1..).zip(fields).chain([(100, String)]).collect();
    Model { messages: vec![fields, vec![(1, String), (2, String)]] }
}

/// A number with another wire type, or above its maximum, is skipped like every value that is not text.
fn is_number(error: &DecodeError) -> bool {
    let error = error.to_string();
    error.contains("invalid wire type") || error.contains("invalid varint")
}

#[test]
fn prost_accepts_what_the_validator_accepts_or_repairs() {
    let mut rng = Rng::new(4);
    let schema = schema_of(&model().file());
    let mut validator = StringFilter::new(&schema, "test.M0").unwrap();
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    let repairing = StringFilter::with_decoder(&schema, "test.M0", decoder).unwrap();
    let (mut accepted, mut rejected, mut longer) = (0, 0, 0);
    for _ in 0..20_000 {
        let size = rng.pick(&[5, 20, 100]);
        let mut input = model().message(&mut rng, 0, size, 8);
        for _ in 0..rng.below(3) {
            let at = rng.below(input.len());
            input[at] = rng.next() as u8;
        }
        let _ = validator.validate(&input);
        let ours = validator.finish();
        let theirs = M0::decode(&input[..]);
        let agree = match (&ours, &theirs) {
            (Ok(()), Ok(_)) | (Err(_), Err(_)) => true,
            (Ok(()), Err(error)) => is_number(error),
            (Err(_), Ok(_)) => false,
        };
        assert!(agree, "{ours:?} {theirs:?} {input:02X?}");
        if let Ok(Cow::Owned(repaired)) = repairing.repair(&input) {
            let theirs = M0::decode(&repaired[..]);
            assert!(theirs.as_ref().err().is_none_or(is_number), "{theirs:?} {input:02X?}");
            longer += u32::from(repaired.len() > input.len());
        }
        accepted += u32::from(ours.is_ok());
        rejected += u32::from(ours.is_err_and(|error| !matches!(error.kind, ProtobufErrorKind::Text(_))));
    }
    assert!(accepted > 2000 && rejected > 2000 && longer > 500, "{accepted} {rejected} {longer}");
}
