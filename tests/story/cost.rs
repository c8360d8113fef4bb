//! Tokens are always counted; money only where the price is known.

use serde_json::Value;

use crate::house::{House, ends_with, stdout};

const ANSWER: &str = concat!(
    "  - match: {step: ad-hoc}\n    repeat: true\n    reply:\n      text: yes\n",
    "      usage: {input_tokens: 1000000, output_tokens: 1000000}\n",
);

fn last_line(house: &House, model: &str) -> Value {
    let gate = house.gate(ANSWER);
    let mut run = house.flower_at(&gate, &["once", "x", "--output", "json"]);
    let output = ends_with(run.env("ANTHROPIC_MODEL", model), 0);
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn an_unknown_model_costs_an_unknown_amount_until_a_file_names_its_price() {
    let house = House::new();
    let last = last_line(&house, "home-made-1");
    assert_eq!(last["cost_known"], false);
    assert_eq!(last["cost_usd"], 0.0);
    assert_eq!(last["usage"]["output_tokens"], 1_000_000);

    let user = house.home.join(".config/flower");
    std::fs::create_dir_all(&user).unwrap();
    let table = r#"{"models": [{"id": "home-made-1", "window": 100000,
        "price": {"input": 2, "output": 3, "cache_write": 2.5, "cache_read": 0.2}}]}"#;
    std::fs::write(user.join("models.json"), table).unwrap();
    let last = last_line(&house, "home-made-1");
    assert_eq!(last["cost_known"], true);
    assert_eq!(last["cost_usd"], 5.0);
}

#[test]
fn a_budget_that_is_used_up_ends_the_run_with_code_5() {
    let house = House::new();
    house.write("a.txt", "a");
    let gate = house.gate(concat!(
        "  - match: {step: ad-hoc}\n    repeat: true\n    reply:\n",
        "      tools: [{name: Read, input: {file_path: a.txt}}]\n",
        "      usage: {input_tokens: 1000000, output_tokens: 100000}\n",
    ));
    let words = ["once", "x", "--budget", "3", "--output", "json"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 5);
    let last: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(last["outcome"], "limit");
    assert_eq!(last["class"], "budget");
    let spent = last["cost_usd"].as_f64().unwrap();
    assert!(spent > 0.0, "what was spent is said");
    assert!(gate.requests().len() < 5);
}
