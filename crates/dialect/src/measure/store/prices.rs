//! A store's price list, as the user writes it: what a thousand requests of each class cost, and a gigabyte each way.
//!
//! ```toml
//! currency = "USD"
//! class_a = 0.005
//! class_b = 0.0004
//! read_gb = 0.09
//! ```

use iodyno_model::{Diagnostic, Origin};

use crate::Loader;
use crate::native::fields::{Fields, Wrong};
use crate::native::tree;
use crate::native::value::{number, text};

/// Prices; what is not named costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    pub currency: String,
    /// Of 1,000 requests that change or list.
    pub class_a: f64,
    /// Of 1,000 requests that read.
    pub class_b: f64,
    /// Of 1,000 requests that remove.
    pub delete: f64,
    /// Of 10^9 bytes that are read, or written.
    pub read_gb: f64,
    pub write_gb: f64,
}

/// Reads a price list.
///
/// # Errors
/// It cannot be read, or everything that is wrong with it, by line.
pub fn read(path: &str, loader: &mut dyn Loader) -> Result<Prices, Vec<Diagnostic>> {
    let origin = Origin::argument(&format!("--prices {path}"));
    let said = |why: String| vec![Diagnostic::error(&origin, why).hint("a file as docs/measure.md has one")];
    let bytes = loader.read(path).map_err(said)?;
    let text = String::from_utf8(bytes).map_err(|_| said("it is no text".into()))?;
    parse(&text, path)
}

fn parse(content: &str, path: &str) -> Result<Prices, Vec<Diagnostic>> {
    // What is no TOML at all is told by its first line.
    let document =
        tree::parse(content, path).map_err(|wrong| wrong.into_iter().take(1).collect::<Vec<_>>())?;
    let wrong = Wrong::default();
    let fields = Fields::new(&document, "a price list", &wrong);
    let prices = Prices {
        currency: fields.or("currency", text, String::new()),
        class_a: fields.or("class_a", number, 0.0),
        class_b: fields.or("class_b", number, 0.0),
        delete: fields.or("delete", number, 0.0),
        read_gb: fields.or("read_gb", number, 0.0),
        write_gb: fields.or("write_gb", number, 0.0),
    };
    fields.unknown();
    if document.entries().iter().all(|entry| entry.name == "currency") && wrong.count() == 0 {
        wrong.error(&document.origin, "it names no price", "e.g. class_a = 0.005, for 1,000 requests");
    }
    let list = wrong.into_list();
    if list.is_empty() { Ok(prices) } else { Err(list) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_and_what_is_no_price_is_told_with_its_line() {
        let read = parse("currency = \"USD\"\nclass_a = 0.005\nread_gb = 0.09\n", "p.toml").unwrap();
        assert_eq!(
            (read.currency.as_str(), read.class_a, read.class_b, read.read_gb),
            ("USD", 0.005, 0.0, 0.09)
        );
        for (content, message) in [
            ("clas_a = 1\n", "clas_a"),
            ("class_a = -1\n", "expected a number"),
            ("class_a = \"much\"\n", "class_a"),
            ("currency = \"USD\"\n", "no price"),
            ("class_a 5\n", "p.toml"),
        ] {
            let wrong = parse(content, "p.toml").unwrap_err();
            assert!(wrong[0].to_string().contains(message), "{}", wrong[0]);
        }
    }
}
