//! Models: which one to use, how much it holds, what it costs.
//!
//! The figures stand in one dated file with its source, `models.json`; a file of the same shape in the
//! user's folder adds to it and overrides it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::transcript::Usage;

use super::Settings;

/// The window of a model that is not listed.
pub const DEFAULT_WINDOW: u64 = 200_000;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    output: f64,
    cache_write: f64,
    cache_read: f64,
}

/// Another price for requests whose whole input is above a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    above: u64,
    price: Price,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    id: String,
    window: Option<u64>,
    price: Option<Price>,
    long: Option<Long>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    #[serde(default)]
    date: String,
    /// For those who read the file.
    #[serde(default, rename = "source")]
    _source: String,
    #[serde(default)]
    defaults: BTreeMap<String, String>,
    #[serde(default)]
    models: Vec<Model>,
}

/// Windows and prices by model.
#[derive(Debug, Clone)]
pub struct ModelTable {
    date: String,
    defaults: BTreeMap<String, String>,
    models: Vec<Model>,
}

impl ModelTable {
    /// The table that is built in.
    pub fn built_in() -> Self {
        let file: ModelFile = serde_json::from_str(include_str!("models.json"))
            .expect("the built-in file is read by a test");
        Self { date: file.date, defaults: file.defaults, models: file.models }
    }

    /// Adds a file of the user's; entries of the same id and name replace ours. An error says where the
    /// text is wrong and changes nothing.
    pub fn overlay(&mut self, text: &str) -> Result<(), String> {
        if !text.trim_start().starts_with('{') {
            // The reader below would take a list for the fields in order.
            return Err("not an object".to_owned());
        }
        let file: ModelFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for model in &file.models {
            let prices = model.price.iter().chain(model.long.iter().map(|long| &long.price));
            let fine = prices
                .flat_map(|price| [price.input, price.output, price.cache_write, price.cache_read])
                .all(|dollars| dollars.is_finite() && dollars >= 0.0);
            if !fine || model.id.is_empty() || model.window == Some(0) {
                return Err(format!("model {:?}", model.id));
            }
        }
        for model in file.models {
            self.models.retain(|ours| ours.id != model.id);
            self.models.push(model);
        }
        self.defaults.extend(file.defaults);
        Ok(())
    }

    /// The day on which the built-in figures were looked up.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// True for a model that is listed.
    pub fn known(&self, model: &str) -> bool {
        self.find(model).is_some()
    }

    /// The context window in tokens; 200,000 for a model that is not listed.
    ///
    /// A mark `1m` in the name, as in `claude-sonnet-4-5[1m]`, asks for the large window and names it.
    pub fn window(&self, model: &str) -> u64 {
        let mut words = model.split(|c: char| !c.is_ascii_alphanumeric());
        if words.any(|word| word.eq_ignore_ascii_case("1m")) {
            return 1_000_000;
        }
        self.find(model).and_then(|model| model.window).unwrap_or(DEFAULT_WINDOW)
    }

    /// US dollars for *one* reply; nothing for a model without a listed price.
    ///
    /// Sums of replies must be added up reply by reply: some models cost more for a long request. Cache
    /// writes count as five-minute ones.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let model = self.find(model)?;
        let price = match model.long {
            Some(long) if usage.context() > long.above => long.price,
            _ => model.price?,
        };
        let dollars = usage.input_tokens as f64 * price.input
            + usage.output_tokens as f64 * price.output
            + usage.cache_creation_input_tokens as f64 * price.cache_write
            + usage.cache_read_input_tokens as f64 * price.cache_read;
        Some(dollars / 1_000_000.0)
    }

    fn find(&self, model: &str) -> Option<&Model> {
        let name = bare(model).to_ascii_lowercase();
        let fits = |listed: &&Model| {
            let rest = name.strip_prefix(&listed.id.to_ascii_lowercase());
            rest.is_some_and(is_same_model)
        };
        self.models.iter().filter(fits).max_by_key(|listed| listed.id.len())
    }
}

/// The name without a cloud's prefix: `us.anthropic.claude-…`, `anthropic/claude-…`.
fn bare(model: &str) -> &str {
    let name = model.trim();
    let name = name.rsplit('/').next().unwrap_or(name);
    name.split_once("anthropic.").map_or(name, |(_, name)| name)
}

/// What may follow an id in the same model's name: a date, `latest`, a cloud's mark. A further version
/// number makes another model, whose price is not known: `claude-opus-4-9` is no `claude-opus-4`.
fn is_same_model(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('-') else {
        return rest.is_empty() || rest.starts_with(['@', ':', '[']);
    };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    digits >= 6 || rest.starts_with("latest") || rest.starts_with("v1")
}

impl Settings {
    /// The coordinator's model: `ANTHROPIC_MODEL`, else `ANTHROPIC_DEFAULT_OPUS_MODEL`, else the table's.
    pub fn main_model(&self) -> String {
        match self.non_empty("ANTHROPIC_MODEL") {
            Some(model) => self.resolve_model(model),
            None => self.resolve_model("opus"),
        }
    }

    /// A subagent's model. `CLAUDE_CODE_SUBAGENT_MODEL` wins over what was requested; `inherit` or nothing
    /// is the main model, an alias its default, everything else itself.
    pub fn subagent_model(&self, requested: &str) -> String {
        let requested = self.non_empty("CLAUDE_CODE_SUBAGENT_MODEL").unwrap_or(requested).trim();
        if requested.is_empty() || requested.eq_ignore_ascii_case("inherit") {
            return self.main_model();
        }
        self.resolve_model(requested)
    }

    /// `CLAUDE_CODE_EFFORT_LEVEL`, as it was written.
    pub fn effort(&self) -> Option<&str> {
        self.non_empty("CLAUDE_CODE_EFFORT_LEVEL")
    }

    /// The context window in tokens that the user has set: `FLOWER_WINDOW`.
    pub fn chosen_window(&self) -> Option<u64> {
        self.non_empty("FLOWER_WINDOW").and_then(read_count)
    }

    /// `opus`, `sonnet` and `haiku` become `ANTHROPIC_DEFAULT_…_MODEL` or the table's default; `opus[1m]`
    /// keeps its mark.
    fn resolve_model(&self, name: &str) -> String {
        let name = name.trim();
        let (alias, mark) = name.split_at(name.find('[').unwrap_or(name.len()));
        let alias = alias.to_ascii_lowercase();
        let Some(default) = self.models().defaults.get(&alias) else {
            return name.to_owned();
        };
        let key = format!("ANTHROPIC_DEFAULT_{}_MODEL", alias.to_ascii_uppercase());
        format!("{}{mark}", self.non_empty(&key).unwrap_or(default).trim())
    }
}

/// A positive whole number; nothing for anything else.
pub fn read_count(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|window| *window > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Home;
    use super::*;

    #[test]
    fn the_built_in_table_is_whole() {
        let table = ModelTable::built_in();
        assert_eq!(table.date().len(), 10);
        for alias in ["opus", "sonnet", "haiku"] {
            assert!(table.known(&table.defaults[alias]), "{alias}");
        }
        assert!(table.models.iter().all(|model| model.window.is_some() && model.price.is_some()));
    }

    #[test]
    fn dated_and_clouded_names_are_the_same_model_and_newer_ones_are_not() {
        let table = ModelTable::built_in();
        for (name, id) in [
            ("claude-opus-4-20250514", "claude-opus-4"),
            ("claude-opus-4-1-20250805", "claude-opus-4-1"),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
            ("anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"),
            ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ] {
            assert_eq!(table.find(name).unwrap().id, id);
        }
        for unknown in ["claude-opus-4-9", "claude-opus-5-7", "demo-1", "", "claude"] {
            assert!(!table.known(unknown), "{unknown}");
            assert_eq!(table.window(unknown), DEFAULT_WINDOW);
            assert_eq!(table.cost(unknown, &Usage::default()), None);
        }
        assert_eq!(table.window("claude-sonnet-4-5[1m]"), 1_000_000);
        assert_eq!(table.window("claude-haiku-4-5"), 200_000);
    }

    #[test]
    fn a_reply_costs_what_the_list_says() {
        let table = ModelTable::built_in();
        let million = 1_000_000;
        let usage = Usage {
            input_tokens: million,
            output_tokens: million,
            cache_creation_input_tokens: million,
            cache_read_input_tokens: million,
        };
        let cost = table.cost("claude-opus-4-1-20250805", &usage).unwrap();
        assert!((cost - 110.25).abs() < 1e-9, "{cost}");
        let small = Usage { input_tokens: 100_000, ..Usage::default() };
        let large = Usage { input_tokens: 100_001, ..Usage::default() };
        let haiku = |usage| table.cost("claude-haiku-5-5", usage).unwrap();
        assert!((haiku(&small) - 0.01).abs() < 1e-9 && haiku(&large) > 0.05);
    }

    #[test]
    fn a_users_file_overrides_and_a_bad_one_changes_nothing() {
        let mut table = ModelTable::built_in();
        assert!(table.overlay("{").is_err());
        assert!(table.overlay(r#"{"models":[{"id":"x","window":0}]}"#).is_err());
        assert!(!table.known("x"));
        let text =
            r#"{"defaults":{"opus":"x"},"models":[{"id":"x","window":5},{"id":"claude-opus-5"}]}"#;
        table.overlay(text).unwrap();
        assert_eq!((table.window("x"), table.window("claude-opus-5")), (5, DEFAULT_WINDOW));
        assert_eq!(table.cost("x", &Usage::default()), None);
        assert_eq!(table.defaults["opus"], "x");
    }

    #[test]
    fn every_selection_variable_is_obeyed() {
        let home = Home::new();
        let defaults = ModelTable::built_in().defaults;
        assert_eq!(home.resolve().main_model(), defaults["opus"]);
        assert_eq!(home.resolve().subagent_model("haiku"), defaults["haiku"]);
        let home = home
            .with("ANTHROPIC_DEFAULT_OPUS_MODEL", "o")
            .with("ANTHROPIC_DEFAULT_SONNET_MODEL", "s")
            .with("CLAUDE_CODE_EFFORT_LEVEL", "high");
        assert_eq!(home.resolve().main_model(), "o");
        assert_eq!(home.resolve().effort(), Some("high"));
        let home = home.with("ANTHROPIC_MODEL", "Sonnet[1m]");
        let settings = home.resolve();
        assert_eq!(settings.main_model(), "s[1m]");
        assert_eq!(settings.subagent_model("inherit"), "s[1m]");
        assert_eq!(settings.subagent_model("opus"), "o");
        assert_eq!(settings.subagent_model("my-model"), "my-model");
        let home = home.with("CLAUDE_CODE_SUBAGENT_MODEL", "opus");
        assert_eq!(home.resolve().subagent_model("haiku"), "o");
        assert_eq!(home.resolve().main_model(), "s[1m]");
    }

    #[test]
    fn a_window_that_a_person_sets_is_a_positive_number() {
        let home = Home::new();
        assert_eq!(home.resolve().chosen_window(), None);
        let home = home.with("FLOWER_WINDOW", "64000");
        assert_eq!(home.resolve().chosen_window(), Some(64_000));
        let home = home.with("FLOWER_WINDOW", "-1");
        assert_eq!(home.resolve().chosen_window(), None);
        assert_eq!(home.resolve().warnings()[0].key, "settings.bad_number");
    }
}
