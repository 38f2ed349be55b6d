//! Stored runs of many shapes.
pub struct Shape;
impl Shape { pub fn title(&self) -> String { String::new() } pub fn check(self) -> testbed::Outcome { Ok(()) } }
pub fn all() -> Vec<Shape> { Vec::new() }
