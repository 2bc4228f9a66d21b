//! The names of subsets.

use utf8_codec::Subset;

use super::error::ConfigError;

pub(super) fn subset(name: &str) -> Result<&'static Subset, ConfigError> {
    static SUBSETS: [(&str, Subset); 14] = [
        ("ascii", Subset::ASCII),
        ("latin-1", Subset::LATIN_1),
        ("bmp", Subset::BMP),
        ("no-nul", Subset::NO_NUL),
        ("no-controls", Subset::NO_CONTROLS),
        ("no-bidi-controls", Subset::NO_BIDI_CONTROLS),
        ("no-noncharacters", Subset::NO_NONCHARACTERS),
        ("xml-characters", Subset::XML_CHARACTERS),
        ("unicode-assignables", Subset::UNICODE_ASSIGNABLES),
        ("mqtt-5", Subset::MQTT_5),
        ("mqtt-5-recommended", Subset::MQTT_5_RECOMMENDED),
        ("i-json", Subset::I_JSON),
        ("json-text", Subset::JSON_TEXT),
        ("yaml-printable", Subset::YAML_PRINTABLE),
    ];
    SUBSETS.iter().find(|(known, _)| *known == name).map(|(_, subset)| subset).ok_or_else(|| {
        let known: Vec<_> = SUBSETS.iter().map(|(known, _)| *known).collect();
        ConfigError(format!("unknown `subset`, expected one of {}", known.join(", ")))
    })
}
