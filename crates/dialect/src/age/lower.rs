//! From the options to a plan that has an [`Aging`] and no phase.

use iodyno_model::{Aging, Intent, Origin, Plan};

use super::options::Options;

/// The plan of a command line.
pub fn plan(options: &Options, origin: Origin) -> Plan {
    let usual = Aging::new(&options.directory, options.full_percent.unwrap_or_default());
    let aging = Aging {
        turnover: options.turnover,
        youth: options.youth,
        sizes: options.sizes.clone().unwrap_or_else(Aging::usual_sizes),
        workers: options.workers,
        reserved: options.reserved,
        remove: options.remove,
        origin,
        ..usual
    };
    Plan {
        name: "age".into(),
        seed: options.seed,
        intent: Intent::Correctness,
        aging: vec![aging],
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use iodyno_model::Size;

    fn read(line: &str) -> Result<Aging, String> {
        let arguments = std::iter::once("iodyno age").chain(line.split_whitespace());
        let options = Options::try_parse_from(arguments).map_err(|error| error.to_string())?;
        Ok(plan(&options, Origin::Default).aging.remove(0))
    }

    #[test]
    fn words_become_an_aging() {
        assert_eq!(read("/d --to 70%"), Ok(Aging::new("/d", 70.0)));
        let said =
            read("/d --to 55.5 --turnover 0.5 --youth 1 --sizes 4k-64k --workers 8 --reserved").unwrap();
        assert_eq!((said.full_percent, said.turnover, said.youth, said.workers), (55.5, 0.5, 1.0, 8));
        assert_eq!(said.sizes, Size::Uniform { least_bytes: 4096, most_bytes: 65536, step_bytes: 1 });
        assert!(said.reserved && !said.remove);
        assert!(read("/d --remove").unwrap().remove);
        for wrong in
            ["/d", "--to 70%", "/d --to 0", "/d --to 100%", "/d --to 70% --sizes 9-1", "/d --to 5 --remove"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
