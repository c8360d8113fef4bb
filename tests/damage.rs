//! The generator of damaged transcripts, tested by itself: what it makes is good, and every harm harms.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub, missing_docs)]

#[path = "damage/chance.rs"]
mod chance;
#[path = "damage/harm.rs"]
mod harm;
#[path = "damage/record.rs"]
mod record;
#[path = "damage/row.rs"]
mod row;

use chance::Chance;
use flower::context::acceptable::is_acceptable;
use harm::HARMS;

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
