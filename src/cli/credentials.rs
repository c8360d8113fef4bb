//! Before a run that a person watches: are there credentials, and does the endpoint take them (flow.md C25, C27)?

use super::args::Global;
use super::assemble::House;
use super::exit::Refusal;
use super::output::warn;
use super::setup;
use super::terminal::is_there;
use crate::settings::{Auth, Endpoint, without_login};
use crate::wire::{Probe, probe};

/// Characters of a reason that are shown.
const LONGEST_REASON: usize = 160;

/// The endpoint. Without credentials, and with such as are not taken, a person at a terminal is asked for
/// others; else that is an error.
pub(super) fn ensure(house: &mut House, global: &Global) -> anyhow::Result<Endpoint> {
    if let Err(missing) = house.settings.endpoint() {
        let four_lines = missing.text(house.language);
        if !is_there() {
            return Err(Refusal::new("credentials", four_lines).into());
        }
        warn(&four_lines);
        setup::set_up(house, global)?;
    }
    check(house, global)
}

/// Asks the endpoint. What it does not take may be put right once; then it is an error.
pub(super) fn check(house: &mut House, global: &Global) -> anyhow::Result<Endpoint> {
    let mut endpoint = endpoint(house)?;
    if !is_there()
        || global.no_probe
        || house.settings.switch("FLOWER_NO_PROBE")
        || endpoint.auth == Auth::None
    {
        return Ok(endpoint);
    }
    let mut once = true;
    loop {
        let (key, reason) = match ask(house, &endpoint)? {
            Probe::Fine => return Ok(endpoint),
            Probe::Unreachable(reason) => {
                warn(&say(house, "setup.unreachable", &endpoint, &reason));
                return Ok(endpoint);
            }
            Probe::Rejected(reason) => ("setup.rejected", reason),
            Probe::Misconfigured(reason) => ("setup.misconfigured", reason),
        };
        let sentence = say(house, key, &endpoint, &reason);
        if !once {
            let again = house.text("setup.again", &[]);
            return Err(Refusal::new("credentials", format!("{sentence}\n{again}")).into());
        }
        once = false;
        warn(&sentence);
        setup::set_up(house, global)?;
        endpoint = self::endpoint(house)?;
    }
}

fn endpoint(house: &House) -> anyhow::Result<Endpoint> {
    let endpoint = house.settings.endpoint();
    Ok(endpoint.map_err(|e| Refusal::new("credentials", e.text(house.language)))?)
}

fn ask(house: &House, endpoint: &Endpoint) -> anyhow::Result<Probe> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let model = house.choice().main_model;
    Ok(tokio.block_on(probe(endpoint, house.client_options(), &model)))
}

fn say(house: &House, key: &str, endpoint: &Endpoint, reason: &str) -> String {
    let reason: String = reason.chars().take(LONGEST_REASON).collect();
    let url = without_login(&endpoint.base_url);
    house.text(key, &[("url", &url), ("reason", &reason)])
}
