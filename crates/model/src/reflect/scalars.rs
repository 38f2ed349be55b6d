//! The tables of numbers, bools and text.

use std::sync::Arc;

use super::{Reflect, ReflectMut, ReflectRef, TypeShape};

macro_rules! scalars {
    ($($kind:ty: $shape:expr, $slot:ident, $view:ident($value:ident) $write:expr;)*) => {$(
        impl Reflect for $kind {
            fn shape() -> TypeShape {
                $shape
            }

            fn blank() -> Self {
                Self::default()
            }

            fn view(&self) -> ReflectRef<'_> {
                let $value = self;
                ReflectRef::$view($write)
            }

            fn slot(&mut self) -> ReflectMut<'_> {
                ReflectMut::$slot(self)
            }
        }
    )*};
}

scalars! {
    bool: TypeShape::Bool, Bool, Bool(value) *value;
    u8: TypeShape::Unsigned(u8::MAX as u128), U8, Unsigned(value) u64::from(*value);
    u16: TypeShape::Unsigned(u16::MAX as u128), U16, Unsigned(value) u64::from(*value);
    u32: TypeShape::Unsigned(u32::MAX as u128), U32, Unsigned(value) u64::from(*value);
    u64: TypeShape::Unsigned(u64::MAX as u128), U64, Unsigned(value) *value;
    usize: TypeShape::Unsigned(u64::MAX as u128), Usize, Unsigned(value) *value as u64;
    u128: TypeShape::Unsigned(u128::MAX), U128, Wide(value) *value;
    i32: TypeShape::Signed(32), I32, Signed(value) i64::from(*value);
    i64: TypeShape::Signed(64), I64, Signed(value) *value;
    f64: TypeShape::Float, F64, Float(value) *value;
    String: TypeShape::Text, Text, Text(value) value;
}

impl Reflect for Arc<str> {
    fn shape() -> TypeShape {
        TypeShape::Text
    }

    fn blank() -> Self {
        "".into()
    }

    fn view(&self) -> ReflectRef<'_> {
        ReflectRef::Text(self)
    }

    fn slot(&mut self) -> ReflectMut<'_> {
        ReflectMut::SharedText(self)
    }
}

/// A value that is a bool, a number or text, as it is written.
pub trait Scalar {
    /// Takes a bool.
    fn set_bool(&mut self, value: bool);

    /// Takes a number.
    fn set_number(&mut self, value: u64);

    /// Takes text.
    fn set_text(&mut self, value: &str);
}
