//! What a browser sees of iodyno: one small HTTP server, who may ask it, and the studio's page with its designs.
//!
//! ```text
//!   bytes ─ http ─► HttpRequest ─ gate ─► admitted, or refused
//!   Design ◄─ import ─ .icf, plans of other tools          Design ─► .icf (which is run), TOML, lines of fio, ior, iozone
//! ```
//! Nothing is run or kept here, and no clock is read: the program does that, and answers the requests of the page.
#![forbid(unsafe_code)]

pub mod admission;
pub mod design;
pub mod http;
pub mod page;
