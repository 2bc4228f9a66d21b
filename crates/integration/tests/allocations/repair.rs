//! The memory that a repair of a whole protobuf message or body holds, compared with the bound in `SECURITY.md`.

use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{GrpcFilter, Schema, StringFilter};

use crate::allocations::most_held_by;

/// A message `M` with a string 1 and an `M` 2, in a file with the syntax proto3.
const SCHEMA: &[u8] = b"\x0A\x28\x0A\x01f\x22\x1B\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09\
    \x12\x0B\x0A\x01m\x18\x02\x28\x0B\x32\x02.Mb\x06proto3";

const MIB: usize = 1 << 20;

#[test]
fn a_repair_holds_its_output_and_24_bytes_for_each_message() {
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Escape);
    let schema = Schema::from_descriptor_set(SCHEMA).unwrap();
    let validator = StringFilter::with_decoder(&schema, "M", decoder).unwrap();
    // One long string, and the shortest messages around one.
    let one = [&b"\x0A\x80\x80\x40"[..], &[0xFF; MIB]].concat();
    let many = b"\x12\x03\x0A\x01\xFF".repeat(MIB / 5);
    let bodies: Vec<u8> = (0..MIB / 10).flat_map(|_| *b"\0\0\0\0\x05\x12\x03\x0A\x01\xFF").collect();
    for (name, input, messages, is_grpc) in
        [("one", one, 0, false), ("many", many, MIB / 5, false), ("grpc", bodies, MIB / 10, true)]
    {
        let mut repaired = 0;
        let most = most_held_by(|| {
            repaired = match is_grpc {
                true => GrpcFilter::new(validator.clone()).repair(&input).unwrap().len(),
                false => validator.repair(&input).unwrap().len(),
            };
        });
        assert!(repaired > input.len(), "{name}");
        let bound = repaired + 24 * messages + 16 * 1024;
        println!("{name}: {most} of {bound} bytes");
        assert!(most <= bound, "{name}: {most} bytes are held, and the bound is {bound}");
    }
}
