//! The JSON Schema of `utf8-codec.toml`, for editors. It is made here of the names that the program accepts, and the
//! committed file is compared with it.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{BomPolicy, Config, NamedEncoding, Rule, ValueEnum};

/// Returns the keys of a table from the message about an unknown one. serde lists those of the struct.
fn keys(start_of_table: &str) -> Vec<String> {
    let error = Config::parse(&format!("{start_of_table}unknown-key = 1\n"), Path::new("/")).unwrap_err();
    let known = error.split_once("expected one of ").expect("serde lists the keys").1;
    known.split(", ").map(|key| key.trim_matches('`').to_owned()).collect()
}

/// Returns the first name of each encoding.
fn encodings() -> Vec<String> {
    let mut list = Vec::new();
    NamedEncoding::list(&mut list).expect("a vector is written to");
    let list = String::from_utf8(list).expect("names are ASCII");
    list.lines().filter_map(|names| Some(names.split_whitespace().next()?.to_owned())).collect()
}

fn strings(description: &str) -> Value {
    json!({
        "description": description,
        "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    })
}

fn property(key: &str) -> Value {
    match key {
        "rules" => json!({
            "description": "The rules to check.",
            "type": "array",
            "items": { "oneOf": Rule::value_variants().iter().map(|rule| json!({
                "const": rule.name(),
                "description": rule.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string)),
            })).collect::<Vec<_>>() },
        }),
        "encoding" => json!({
            "description": "The encoding that the files should have.",
            // An editor completes the names. The program also accepts labels, and ignores case and separators.
            "anyOf": [{ "enum": encodings() }, { "type": "string" }],
        }),
        "bom" => json!({
            "description": "Whether files must start with a byte order mark.",
            "enum": BomPolicy::ALL.iter().map(|policy| policy.name()).collect::<Vec<_>>(),
        }),
        "exclude" => strings("The files that are not read, as in .gitignore."),
        "glob" => strings("The files of the section, as in .gitignore."),
        "files" => {
            let mut section = table(&keys("[[files]]\n"));
            section["required"] = json!(["glob"]);
            json!({ "description": "Settings of some files. A later section overrides an earlier one.", "type": "array", "items": section })
        }
        _ => panic!("the schema does not have the key {key}"),
    }
}

fn table(keys: &[String]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.clone(), property(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[test]
fn the_committed_schema_is_that_of_the_code() {
    let mut schema = table(&keys(""));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] =
        "https://raw.githubusercontent.com/utf8-codec/utf8-codec/main/crates/utf8-codec-cli/utf8-codec.schema.json".into();
    schema["title"] = "utf8-codec.toml".into();
    let made = format!("{schema:#}\n");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = fs::read_to_string(directory.join("utf8-codec.schema.json")).unwrap_or_default();
    if committed != made {
        let made_file = std::env::temp_dir().join("utf8-codec.schema.json");
        fs::write(&made_file, made).expect("the directory for temporary files can be written");
        panic!(
            "utf8-codec.schema.json is out of date: copy {} to {}",
            made_file.display(),
            directory.display()
        );
    }
    // The names are those that the program accepts.
    for name in encodings() {
        Config::parse(&format!("encoding = \"{name}\"\n"), Path::new("/")).expect("the encoding is known");
    }
}
