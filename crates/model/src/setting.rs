//! An engine's own option as the user typed it. The engine that declares the name checks the value.

use crate::reflect::Reflect;

use crate::origin::Origin;

/// One engine setting, e.g. `sqpoll = true` for `io_uring`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Setting {
    /// The name the engine declares.
    pub name: String,
    /// The value as text; the engine parses it.
    pub value: String,
    /// Where it was said.
    #[reflect(default)]
    pub origin: Origin,
}

impl Setting {
    /// A setting nobody typed.
    pub fn new(name: &str, value: impl ToString) -> Self {
        Setting { name: name.into(), value: value.to_string(), origin: Origin::Default }
    }
}
