//! The verdicts on serialized messages of random schemas, compared with Python's protobuf.

use core::fmt::Write as _;
use std::borrow::Cow;
use std::env;
use std::process::Command;

use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{ProtobufErrorKind, StringFilter};

use crate::support::protobuf::{Kind, Model, message, schema_of};
use crate::support::{Rng, hex};

/// Reads a file descriptor or a message from each line, and writes for each message whether it can be parsed.
const PYTHON: &str = "
import sys
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
for line in sys.stdin:
    what, value = line.split(' ')
    value = bytes.fromhex(value)
    if what == 'file':
        pool = descriptor_pool.DescriptorPool()
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(value))
        type = message_factory.GetMessageClass(pool.FindMessageTypeByName('test.M0'))
    else:
        try:
            type.FromString(value)
            print('ok')
        except message.DecodeError:
            print('error')
";

#[test]
#[cfg_attr(not(has_protobuf), ignore = "needs Python with protobuf")]
fn python_accepts_what_the_validator_accepts_or_repairs() {
    let mut rng = Rng::new(5);
    let (mut input, mut ours) = (String::new(), Vec::new());
    for _ in 0..300 {
        let mut model = Model::random(&mut rng);
        for (_, kind) in model.messages.iter_mut().flatten() {
            // proto3 has no groups. They still occur as unknown fields.
            if let Kind::Group(index) = *kind {
                *kind = Kind::Message(index);
            }
        }
        let file = model.file();
        let _ = writeln!(input, "file {}", hex(&file));
        let schema = schema_of(&file);
        let mut validator = StringFilter::new(&schema, "test.M0").unwrap();
        let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
        let repairing = StringFilter::with_decoder(&schema, "test.M0", decoder).unwrap();
        for _ in 0..30 {
            let size = rng.pick(&[5, 20, 100]);
            let mut bytes = model.message(&mut rng, 0, size, 8);
            for _ in 0..rng.below(3) {
                let at = rng.below(bytes.len());
                bytes[at] = rng.next() as u8;
            }
            if rng.below(50) == 0
                && let Some((number, _)) = model.messages[0].iter().find(|field| field.1 == Kind::Message(0))
            {
                bytes = (0..98 + rng.below(5)).fold(Vec::new(), |inner, _| message([(*number, &inner[..])]));
            }
            let _ = writeln!(input, "message {}", hex(&bytes));
            let _ = validator.validate(&bytes);
            ours.push((validator.finish().err().map(|error| error.kind), bytes.clone()));
            if let Ok(Cow::Owned(repaired)) = repairing.repair(&bytes) {
                let _ = writeln!(input, "message {}", hex(&repaired));
                ours.push((None, repaired));
            }
        }
    }
    let python = env::var("UTF8_CODEC_PROTOBUF").unwrap_or("python3".into());
    let theirs = super::run(Command::new(python).args(["-c", PYTHON]), input);
    assert_eq!(theirs.lines().count(), ours.len());
    let mut agreed = 0;
    for ((ours, bytes), theirs) in ours.iter().zip(theirs.lines()) {
        // Python skips a field with another wire type, and may drop the bits of a varint above the 64th.
        if !matches!(ours, Some(ProtobufErrorKind::WireType | ProtobufErrorKind::VarintTooLong)) {
            assert_eq!(ours.map_or("ok", |_| "error"), theirs, "{ours:?} {bytes:02X?}");
            agreed += 1;
        }
    }
    assert!(agreed > 9000, "{agreed}");
}
