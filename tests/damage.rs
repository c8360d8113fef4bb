//! Generated damage: whatever happened to a transcript, its view is a request that the API accepts.
//!
//! Each case is a number: it makes a transcript, up to five harms break it, and the view of what is left
//! is judged. A failure prints, for each kind, the case, the harms that are needed and the fewest rows
//! that show it. `FLOWER_DAMAGE_CASES` says how many cases are tried (100,000 unless set, 3,000 in a
//! build without optimisation), and `FLOWER_DAMAGE_FROM` with which one to begin (0 unless set), to
//! repeat one or to search longer.

#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub, missing_docs)]

#[path = "damage/chance.rs"]
mod chance;
#[path = "damage/harm.rs"]
mod harm;
#[path = "damage/record.rs"]
mod record;
#[path = "damage/row.rs"]
mod row;

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use chance::Chance;
use flower::context::acceptable::{is_acceptable, keeps_thinking, sent};
use flower::context::{Policy, ThinkingPolicy, View, view};
use flower::transcript::Entry;
use harm::HARMS;
use serde_json::Value;

/// Without optimisation a case takes ten times as long; `.ci/run` tries all of them with it.
const CASES: u64 = if cfg!(debug_assertions) { 3_000 } else { 100_000 };

/// What one case is made of.
struct Case {
    base: Vec<Value>,
    /// Each harm with the seed of its choices.
    harms: Vec<(usize, u64)>,
    policy: Policy,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let base = record::record(&mut chance);
        let many = chance.below(6);
        let harms = (0..many).map(|_| (chance.below(HARMS.len()), chance.next())).collect();
        Self { base, harms, policy: policy(&mut chance) }
    }

    fn damaged(&self, harms: &[(usize, u64)]) -> Vec<Value> {
        let mut rows = self.base.clone();
        for (harm, seed) in harms {
            if !rows.is_empty() {
                HARMS[*harm].1(&mut rows, &mut Chance::new(*seed));
            }
        }
        rows
    }
}

/// What is made acceptable does not depend on what is left out to be small.
fn policy(chance: &mut Chance) -> Policy {
    let mut policy = Policy::default();
    match chance.below(8) {
        0 => policy = Policy::whole(),
        1 => policy.thinking = ThinkingPolicy::Strip,
        2 => policy.thinking = ThinkingPolicy::StripOld,
        3 => {
            policy.trim.min_chars = 100;
            policy.trim.keep_recent = 0;
            policy.ephemeral.keep_recent = 0;
            policy.prune.keep_denials = 0;
        }
        _ => {}
    }
    policy
}

/// The texts of the transcript before anything happened to it, from the last compaction on.
fn said(rows: &[Value]) -> HashSet<String> {
    let from = rows.iter().rposition(row::is_compaction).unwrap_or(0);
    rows[from..].iter().flat_map(row::texts).map(str::to_owned).collect()
}

fn raws(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(Entry::raw).collect()
}

/// The kinds of what is wrong with the view of these rows, each with what it says.
fn judge(case: &Case, rows: &[Value]) -> BTreeMap<String, String> {
    let record = row::entries(rows);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let seen = view(record.clone(), &case.policy);
        let mut wrong = Wrong::default();
        look(&record, &seen, &mut wrong);
        if raws(&seen.entries) != raws(&view(record, &case.policy).entries) {
            wrong.note("not the same twice", "");
        }
        look_again(&seen, &mut wrong);
        miss(&case.base, rows, &seen, &mut wrong);
        wrong.0
    }));
    judged.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        BTreeMap::from([("a panic".to_owned(), text.unwrap_or_default())])
    })
}

#[derive(Default)]
struct Wrong(BTreeMap<String, String>);

impl Wrong {
    fn note(&mut self, kind: impl Into<String>, detail: impl Into<String>) {
        self.0.entry(kind.into()).or_insert_with(|| detail.into());
    }
}

fn look(record: &[Entry], seen: &View, wrong: &mut Wrong) {
    let accepted = is_acceptable(&seen.entries).err().into_iter().flatten();
    let kept = keeps_thinking(record, &seen.entries).err().into_iter().flatten();
    for violation in accepted.chain(kept) {
        wrong.note(format!("{:?}", violation.demand), violation.to_string());
    }
    // A client that walks along the parents and one that takes what the view says see the same.
    let walked: Vec<&str> = sent(&seen.entries).iter().map(|at| seen.entries[*at].raw()).collect();
    let told = seen.conversation().filter(|entry| !entry.api_error);
    let told: Vec<&str> = told.map(Entry::raw).collect();
    if walked != told {
        wrong.note("walk and conversation differ", format!("{walked:#?} {told:#?}"));
    }
}

/// A view is a record too: nothing is left to mend in it. (Something may be left to shorten.)
fn look_again(seen: &View, wrong: &mut Wrong) {
    let again = view(seen.entries.clone(), &Policy::whole());
    for (mend, times) in again.report.findings() {
        wrong.note(format!("mended again {}", mend.name()), format!("{times} times"));
    }
    if raws(&again.entries) == raws(&seen.entries) {
        return;
    }
    if again.report.findings().next().is_none() {
        wrong.note("changed again", format!("{:#?}", raws(&again.entries)));
    }
    for violation in is_acceptable(&again.entries).err().into_iter().flatten() {
        wrong.note(format!("again {:?}", violation.demand), violation.to_string());
    }
}

/// Texts of the person and the model that the damage had left whole must be in the view.
fn miss(base: &[Value], rows: &[Value], seen: &View, wrong: &mut Wrong) {
    let parse = |entry: &Entry| row::read(entry.raw());
    let all: Vec<Value> = seen.entries.iter().filter_map(parse).collect();
    let live: Vec<Value> = seen.conversation().filter_map(parse).collect();
    let said = said(base);
    let from = rows.iter().rposition(row::is_compaction).unwrap_or(0);
    // In a branch that was given up texts are kept, but not sent.
    let places = [("a text is lost", &all), ("a text is not sent", &live)];
    for (kind, shown) in places.iter().take(if forks(rows) { 1 } else { 2 }) {
        let shown: HashSet<&str> = shown.iter().flat_map(row::texts).collect();
        for text in rows[from..].iter().flat_map(row::texts).filter(|text| said.contains(*text)) {
            if !shown.contains(text) && !shown.iter().any(|shown| shown.contains(text)) {
                wrong.note(*kind, text);
            }
        }
    }
}

/// True where two rows hang below the same one, or share a uuid, so that one of them may be a branch
/// that was given up; results of calls are none.
fn forks(rows: &[Value]) -> bool {
    let (mut parents, mut uuids) = (HashSet::new(), HashSet::new());
    let speaks = |row: &&Value| row["type"] == "user" || row["type"] == "assistant";
    rows.iter().filter(speaks).filter(|row| row["isSidechain"] != true).any(|row| {
        let blocks = row["message"]["content"].as_array();
        let answers = blocks.is_some_and(|blocks| {
            !blocks.is_empty() && blocks.iter().all(|block| row::is(block, "tool_result"))
        });
        let parent = row["parentUuid"].as_str();
        let taken = parent.is_some_and(|parent| !answers && !parents.insert(parent));
        taken || row["uuid"].as_str().is_some_and(|uuid| !uuids.insert(uuid))
    })
}

/// The fewest harms, and then the fewest rows, that still show this kind of failure.
fn shrink(case: &Case, kind: &str) -> (Vec<(usize, u64)>, Vec<Value>) {
    let fails = |rows: &[Value]| judge(case, rows).contains_key(kind);
    let harms = fewest(case.harms.clone(), |harms| fails(&case.damaged(harms)));
    let rows = fewest(case.damaged(&harms), fails);
    (harms, rows)
}

/// What is left when one after the other is left out for which `fails` stays true.
fn fewest<T: Clone>(mut all: Vec<T>, fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut at = all.len();
    while at > 0 {
        at -= 1;
        let one = all.remove(at);
        if !fails(&all) {
            all.insert(at, one);
        }
    }
    all
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return otherwise };
    text.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
#[ignore = "does not hold yet for about 2 in 100 of these wrecks; run it with --release and --ignored"]
fn whatever_happened_the_view_is_accepted_and_nothing_is_lost() {
    let from = number("FLOWER_DAMAGE_FROM", 0);
    let to = from + number("FLOWER_DAMAGE_CASES", CASES);
    // How often each kind failed, and the case with the fewest rows.
    let failed: Mutex<BTreeMap<String, (u64, u64, usize)>> = Mutex::default();
    let start = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in from..from + threads as u64 {
            let failed = &failed;
            scope.spawn(move || {
                for seed in (first..to).step_by(threads) {
                    let case = Case::new(seed);
                    let rows = case.damaged(&case.harms);
                    for kind in judge(&case, &rows).into_keys() {
                        let mut failed = failed.lock().unwrap();
                        let (times, smallest, length) =
                            failed.entry(kind).or_insert((0, seed, rows.len()));
                        *times += 1;
                        if rows.len() < *length {
                            (*smallest, *length) = (seed, rows.len());
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("{} cases in {:.1?} on {threads} threads", to - from, start.elapsed());
    for (kind, (times, seed, _)) in &failed {
        let case = Case::new(*seed);
        let (harms, rows) = shrink(&case, kind);
        let detail = judge(&case, &rows).remove(kind).unwrap_or_default();
        let names: Vec<&str> = harms.iter().map(|(harm, _)| HARMS[*harm].0).collect();
        println!("\n{kind}: {times} times; case {seed}, after {names:?}: {detail}");
        for row in &rows {
            println!("{}", row::write(row));
        }
        let seen = catch_unwind(|| view(row::entries(&rows), &case.policy).entries);
        for entry in seen.iter().flatten() {
            println!("seen as {}", entry.raw());
        }
    }
    assert!(failed.is_empty(), "{} kinds of failure in cases {from} to {to}", failed.len());
}

#[test]
fn the_harms_reach_what_they_name() {
    // A harm that changes nothing, in whatever transcript, would be a gap that nobody sees.
    for (number, (name, harm)) in HARMS.iter().enumerate() {
        let changed = (0..200).any(|seed| {
            let mut rows = record::record(&mut Chance::new(seed));
            let before = rows.clone();
            harm(&mut rows, &mut Chance::new(seed ^ number as u64));
            rows != before
        });
        assert!(changed, "\"{name}\" changes nothing");
    }
}

#[test]
fn what_went_well_is_acceptable_as_it_is() {
    // Otherwise the judge would only learn what the mending makes of a transcript.
    for seed in 0..2_000 {
        let rows = record::record(&mut Chance::new(seed));
        assert_eq!(is_acceptable(&row::entries(&rows)), Ok(()), "{seed}: {rows:#?}");
    }
}
