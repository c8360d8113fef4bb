//! The list of what lies on a workbench, for people and for agents (core.md W-4, W-5).

use std::path::PathBuf;

use super::Workbench;
use super::describe::visible;
use super::scan::{Item, scan};

/// How many files of a group an agent is told of; the rest it can list itself.
const TOLD: usize = 40;

/// One group of files: the key of its name, where it lies, what lies there.
struct Group {
    name: &'static str,
    folder: PathBuf,
    items: Vec<Item>,
}

fn groups(bench: &Workbench) -> [Group; 3] {
    let archive = bench.notes().join("archive");
    [
        ("scripts", bench.scripts(), None),
        ("artifacts", bench.artifacts(), None),
        // What was put aside is history, not something to work with.
        ("notes", bench.notes(), Some(archive.as_path())),
    ]
    .map(|(name, folder, except)| {
        let items = scan(&folder, except);
        Group { name, folder, items }
    })
}

/// The text of `INDEX.md`.
pub(super) fn render(bench: &Workbench) -> String {
    let say = |key: &str, values: &[(&str, &str)]| {
        bench.language().text(&format!("workbench.{key}"), values)
    };
    let mut text = format!("# {}\n\n{}\n", say("index_title", &[]), say("index_note", &[]));
    for group in groups(bench) {
        let count = group.items.len().to_string();
        let heading = say(&format!("index_{}", group.name), &[("count", &count)]);
        text.push_str(&format!("\n## {heading}\n\n"));
        if group.items.is_empty() {
            text.push_str(&format!("- {}\n", say("index_empty", &[])));
        }
        for item in &group.items {
            text.push_str(&line(bench, item));
        }
    }
    text
}

/// What an agent reads about the workbench.
pub(super) fn prompt(bench: &Workbench) -> String {
    let say = |key: &str, values: &[(&str, &str)]| {
        bench.language().text(&format!("workbench.{key}"), values)
    };
    let shown = |path: PathBuf| bench.shown(&path);
    let root = bench.shown(bench.root());
    let mut text = format!("## {}\n\n", say("prompt_title", &[("root", &root)]));
    if !bench.is_inside() {
        text.push_str(&format!("{}\n\n", say("prompt_external", &[])));
    }
    text.push_str(&format!("{}\n", say("prompt_reuse", &[])));
    let groups = groups(bench);
    if groups.iter().all(|group| group.items.is_empty()) {
        text.push_str(&format!("\n{}\n", say("prompt_empty", &[])));
    }
    for group in groups.iter().filter(|group| !group.items.is_empty()) {
        text.push_str(&format!("\n{}\n", say(&format!("prompt_{}", group.name), &[])));
        for item in group.items.iter().take(TOLD) {
            text.push_str(&line(bench, item));
        }
        if let Some(more) = group.items.len().checked_sub(TOLD).filter(|more| *more > 0) {
            let more = more.to_string();
            let folder = bench.shown(&group.folder);
            let rest = say("prompt_more", &[("count", &more), ("folder", &folder)]);
            text.push_str(&format!("- {rest}\n"));
        }
    }
    let rules = [
        say("rule_scripts", &[("folder", &shown(bench.scripts()))]),
        say("rule_artifacts", &[("folder", &shown(bench.artifacts()))]),
        say("rule_notes", &[("folder", &shown(bench.notes()))]),
    ];
    text.push_str(&format!("\n{}\n", say("rules", &[])));
    for (number, rule) in rules.iter().enumerate() {
        text.push_str(&format!("{}. {rule}\n", number + 1));
    }
    text
}

fn line(bench: &Workbench, item: &Item) -> String {
    // A name may hold anything but a slash; what would break out of the line or the code marks goes.
    let path = visible(&bench.shown(&item.path)).replace('`', "'");
    let description = match item.description() {
        words if words.is_empty() => bench.language().text("workbench.no_description", &[]),
        words => words,
    };
    format!("- `{path}` — {description} ({})\n", item.size)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::language::Language;

    fn desk(language: Language) -> (tempfile::TempDir, Workbench) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".flower");
        let bench = Workbench::open(&root, folder.path(), language).unwrap();
        (folder, bench)
    }

    #[test]
    fn the_index_lists_what_is_there() {
        let (_folder, bench) = desk(Language::Chinese);
        fs::write(bench.scripts().join("build.sh"), "#!/bin/sh\n# desc\u{ff1a}全量构建\n").unwrap();
        fs::write(bench.artifacts().join("log.txt"), "x".repeat(2048)).unwrap();
        fs::create_dir_all(bench.notes().join("archive/old")).unwrap();
        fs::write(bench.notes().join("archive/old/brief.md"), "# old").unwrap();
        bench.refresh_index().unwrap();
        let text = fs::read_to_string(bench.index_path()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "# 工作台索引");
        assert_eq!(
            lines[2..],
            [
                "## 可复用脚本(1)",
                "- `.flower/scripts/build.sh` — 全量构建 (32B)",
                "## 产出(1)",
                "- `.flower/artifacts/log.txt` — (无说明) (2.0K)",
                "## 决策记录(0)",
                "- (空)",
            ]
        );
    }

    #[test]
    fn an_unchanged_index_is_not_written_again() {
        let (_folder, bench) = desk(Language::English);
        bench.refresh_index().unwrap();
        let time = || fs::metadata(bench.index_path()).unwrap().modified().unwrap();
        let before = time();
        bench.refresh_index().unwrap();
        assert_eq!(time(), before);
    }

    #[test]
    fn an_agent_is_told_forty_files_of_a_group_and_how_to_see_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, root) = (folder.path().join("w"), folder.path().join(".flower-w"));
        let bench = Workbench::open(&root, &workspace, Language::English).unwrap();
        assert!(bench.prompt_block().contains("nothing here yet"));
        for number in 0..45 {
            fs::write(bench.artifacts().join(format!("{number:02}.txt")), "").unwrap();
        }
        let block = bench.prompt_block();
        assert_eq!(block.matches(".txt`").count(), 40);
        let place = Path::new(&bench.artifacts().display().to_string()).display().to_string();
        assert!(block.contains(&format!("`ls {place}`")), "{block}");
        assert!(block.contains("5 more"));
        assert!(!block.contains("nothing here yet"));
        assert!(block.contains("absolute"));
    }

    #[test]
    fn a_strange_file_name_stays_in_its_line() {
        let (_folder, bench) = desk(Language::English);
        fs::write(bench.scripts().join("a\n# b`c"), "").unwrap();
        assert!(render(&bench).contains("- `.flower/scripts/a# b'c` — "));
    }

    #[test]
    fn every_text_is_in_the_catalogues() {
        for language in Language::ALL {
            let (_folder, bench) = desk(language);
            let all = format!("{}{}", bench.prompt_block(), render(&bench));
            assert!(!all.contains("workbench."), "{all}");
        }
    }
}
