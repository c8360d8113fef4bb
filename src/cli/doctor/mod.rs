//! `flower doctor`: whether a run can begin here, and what to do where it cannot.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use self::judge::{Finding, Mark};
use super::args::Global;
use super::assemble::House;
use super::terminal::clean;
use crate::language::Language;

mod judge;
mod look;
mod mount;

/// `flower doctor`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  flower doctor\n  flower doctor --json --no-probe\n\nExit code 1 where anything failed (✗); notes (!) are no failures."
)]
pub(super) struct DoctorArgs {
    /// One JSON object: ok, and the checks with check, mark (fine, note, failed), value, remedy
    #[arg(long)]
    json: bool,
}

/// The command.
pub(super) fn run(global: &Global, args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    let findings = look::all(&house, global)?;
    let ok = findings.iter().all(|finding| finding.mark != Mark::Failed);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({"ok": ok, "checks": findings}))?;
    } else {
        out.write_all(page(&findings, house.language).as_bytes())?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line for each: mark, what, value; below it, what to do.
fn page(findings: &[Finding], language: Language) -> String {
    let name = |finding: &Finding| language.text(&format!("doctor.check_{}", finding.check), &[]);
    let widest = findings.iter().map(|finding| name(finding).width()).max().unwrap_or_default();
    let mut page = String::new();
    for finding in findings {
        let name = name(finding);
        let gap = " ".repeat(widest - name.width() + 2);
        let value = finding.value.lines().map(clean).collect::<Vec<_>>().join(" ");
        page.push_str(&format!("{} {name}{gap}{value}\n", finding.mark.sign()));
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            page.push_str(&format!("{}{}\n", " ".repeat(widest + 4), clean(line)));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_columns_and_passes_no_control_characters_on() {
        let finding = |check, mark, remedy: Option<&str>| Finding {
            check,
            mark,
            value: "Q\u{1b}[2JR".into(),
            remedy: remedy.map(str::to_owned),
        };
        let findings =
            [finding("git", Mark::Fine, None), finding("credentials", Mark::Failed, Some("x\ny"))];
        for language in [Language::English, Language::Chinese, Language::Russian] {
            let page = page(&findings, language);
            assert!(!page.contains('\u{1b}') && page.lines().count() == 4, "{page}");
            let column = |line: &str, mark: &str| line.split_once(mark).unwrap().0.width();
            let lines: Vec<&str> = page.lines().collect();
            assert_eq!(column(lines[0], "Q"), column(lines[1], "Q"), "{page}");
            assert_eq!(column(lines[2], "x"), column(lines[3], "y"), "{page}");
        }
    }
}
