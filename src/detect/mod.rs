//! What bytes are: by their BOM, by a designation, by themselves.

mod bom;
mod designation;
mod detector;
#[cfg(feature = "alloc")]
mod fallback;
mod utf16;

pub(crate) use bom::sniff;
pub use bom::{BomSniffer, Sniff};
pub use designation::{Designation, DesignationMatch, DesignationMatches, DesignationRecogniser, Padding};
pub use detector::{Detection, Detector};
#[cfg(feature = "alloc")]
pub use fallback::{FallbackDecoder, Legacy, Scope, decode_or_legacy};
