//! Streams of file I/O on three hosts, as iozone's node lists name them, and IOMeter's managers.

use testbed::sandbox::Hosts;
use testbed::{Case, Outcome};

use crate::going::{case, iodyno, listed, staged, well};

pub fn cases() -> Vec<Case> {
    vec![
        case("a_node_list_is_a_cluster", a_node_list_is_a_cluster),
        case("what_is_wrong_with_a_node_list_is_said_here", what_is_wrong_is_said_here),
        case("a_manager_runs_on_each_host", a_manager_runs_on_each_host),
    ]
}

fn node_list(hosts: &Hosts, text: &str) -> std::io::Result<()> {
    let local = hosts.local().display().to_string();
    std::fs::write(hosts.shared().join("nodelist"), text.replace("LOCAL", &local))
}

/// A line for each stream, one host twice; `RSH` is the only one who knows the way.
fn a_node_list_is_a_cluster() -> Outcome {
    let hosts = staged(3)?;
    let list = "# three hosts\nh2 LOCAL /opt/iozone\nh3 LOCAL /opt/iozone own.data\nh1 LOCAL x LOCAL/own.1\nh2 LOCAL x\n";
    node_list(&hosts, list)?;
    let line = "iozone -i 0 -i 1 -s 2M -Rb out.xls -r 4k -t 2 -t 4 -+m nodelist -C -w -x";
    let mut command = iodyno(&hosts, &line.split(' ').collect::<Vec<_>>());
    command.env_remove("OMPI_MCA_plm_rsh_agent").env("RSH", hosts.ssh());
    let said = well(hosts.run(command));
    for (streams, what) in [(2, "initial writers"), (4, "re-readers")] {
        let line = |line: &&str| line.contains("throughput for") && line.contains(what);
        let found = said.out.lines().filter(line).any(|line| line.contains(&format!(" {streams} {what}")));
        assert!(found, "{streams} {what}: {said:#?}");
    }
    assert!(said.out.contains("Test running:") && said.out.contains("Test cleanup:"), "{said:#?}");
    assert!(!said.out.contains("Parent sees"), "{said:#?}");
    // Each stream moved all of its file: four passes of two streams, and of four.
    let whole = said.out.lines().filter(|line| line.contains("xfer count =    2048.00 kB")).count();
    assert_eq!(whole, 4 * 2 + 4 * 4, "{said:#?}");
    assert!(std::fs::read(hosts.shared().join("out.xls"))?.starts_with(&[0xD0, 0xCF, 0x11, 0xE0]));
    let files = [(1, vec!["own.1"]), (2, vec!["iozone.DUMMY.0", "iozone.DUMMY.3"]), (3, vec!["own.data"])];
    for (number, wanted) in files {
        let mut made = listed(&hosts, number, &hosts.local())?;
        made.retain(|name| name != "lost+found");
        assert_eq!(made, wanted, "host {number}: {said:#?}");
    }
    Ok(())
}

fn what_is_wrong_is_said_here() -> Outcome {
    let hosts = staged(2)?;
    let refused = |list: &str, word: &str| -> Outcome {
        node_list(&hosts, list)?;
        let line = "iozone -i 0 -s 1M -r 4k -t 2 -+m nodelist";
        let said = hosts.run(iodyno(&hosts, &line.split(' ').collect::<Vec<_>>()));
        assert!(!said.status.success(), "{said:#?}");
        assert!(format!("{}{}", said.out, said.err).contains(word), "{word}: {said:#?}");
        Ok(())
    };
    refused("h1 LOCAL x\n", "1 lines for 2 streams")?;
    refused("h1 LOCAL x\nh2 LOCAL\n", "no stream")?;
    refused("h1 LOCAL x\nh9 LOCAL x\n", "h9")?;
    // A directory that one host lacks: told, and a failure.
    refused("h1 LOCAL x\nh2 LOCAL/absent x\n", "absent")
}

/// IOMeter's only manager on two hosts: a row for each, and each with a file of its own.
fn a_manager_runs_on_each_host() -> Outcome {
    let hosts = staged(2)?;
    let text = include_str!("../../../../golden/iometer/small.icf");
    std::fs::write(hosts.shared().join("f.icf"), text)?;
    let map = format!("C:={}", hosts.local().display());
    let words = ["iometer", "f.icf", "-r", "results.csv", "--map", &map, "--also", "hosts=h2,h1"];
    let said = well(hosts.run(iodyno(&hosts, &words)));
    let results = std::fs::read_to_string(hosts.shared().join("results.csv"))?;
    let all: Vec<_> = results.lines().filter(|line| line.starts_with("ALL,")).collect();
    let managers: Vec<_> = results.lines().filter(|line| line.starts_with("MANAGER,")).collect();
    assert_eq!((all.len(), managers.len()), (2, 4), "{results} {said:#?}");
    assert!(all.iter().all(|line| line.split(',').skip(3).take(3).eq(["2", "2", "2"])), "{all:?}");
    assert!(managers[0].starts_with("MANAGER,h2,") && managers[1].starts_with("MANAGER,h1,"), "{managers:?}");
    for number in [1, 2] {
        let file = hosts.seen(number, &hosts.local().join("iobw.tst"));
        assert_eq!(std::fs::metadata(file)?.len(), 8192 * 512);
    }
    Ok(())
}
