//! The model as tables of fields: every type of a plan and a record says of itself what it is made of, once.
//!
//! `#[derive(Reflect)]` makes the table. [`write`](fn@write) and [`read`] walk it for every format that `serde` knows; the
//! report makes the published JSON schema from it. Refuses to know any format.

mod containers;
mod reader;
mod scalars;
mod writer;

use std::any::Any;
use std::sync::Arc;

pub use iodyno_reflect::Reflect;
// As derived code names it, so that a crate that derives needs no dependency of its own.
pub use reader::read;
pub use scalars::Scalar;
#[doc(hidden)]
pub use serde;
pub use writer::write;

/// Makes the default of types what a reader begins with.
macro_rules! blank_by_default {
    ($($kind:ty),*) => {$(
        impl Default for $kind {
            fn default() -> Self {
                $crate::reflect::Reflect::blank()
            }
        }
    )*};
}
pub(crate) use blank_by_default;

/// A value with a table.
pub trait Reflect: 'static {
    /// What every value of the type is made of.
    fn shape() -> TypeShape
    where
        Self: Sized;

    /// A value to be filled in: what is absent in the source keeps what it has here.
    fn blank() -> Self
    where
        Self: Sized;

    /// The value for a writer.
    fn view(&self) -> ReflectRef<'_>;

    /// The value for a reader.
    fn slot(&mut self) -> ReflectMut<'_>;
}

/// What the values of a type are made of. Shapes within shapes are functions, because a type may contain itself.
#[derive(Clone, Copy, Debug)]
pub enum TypeShape {
    /// `true` or `false`.
    Bool,
    /// A whole number from 0 to this.
    Unsigned(u128),
    /// A whole number of so many bits, with a sign.
    Signed(u32),
    /// A double.
    Float,
    /// Text.
    Text,
    /// A bool, a number or text.
    Scalar,
    /// A value or none.
    Optional(fn() -> TypeShape),
    /// Any number of values.
    List(fn() -> TypeShape),
    /// One value of each.
    Tuple(&'static [fn() -> TypeShape]),
    /// A struct or an enum.
    Composite(&'static TypeTable),
}

/// The table of a struct or an enum.
#[derive(Debug)]
pub struct TypeTable {
    /// The type's name.
    pub name: &'static str,
    /// The type's documentation, in one line.
    pub doc: &'static str,
    /// Whether it is an enum; a struct has one variant.
    pub is_enum: bool,
    /// The variants' words.
    pub words: &'static [&'static str],
    /// The variants.
    pub variants: &'static [Variant],
}

/// A struct's fields, or those of a variant of an enum.
#[derive(Debug)]
pub struct Variant {
    /// The word it is written as.
    pub word: &'static str,
    /// The word or key it has in a native plan; empty: none.
    pub key: &'static str,
    /// What a print says of it.
    pub phrase: &'static str,
    /// Its documentation, in one line.
    pub doc: &'static str,
    /// How its fields are written.
    pub form: FieldForm,
    /// The fields' names.
    pub names: &'static [&'static str],
    /// The fields.
    pub members: &'static [Member],
}

/// How the fields of a struct or variant are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// There are none.
    Unit,
    /// Its only field stands for it.
    Newtype,
    /// In their order.
    Tuple,
    /// By name.
    Named,
}

/// A field. Its unit is the end of its name: `_ns`, `_bytes`, `_percent`.
#[derive(Debug)]
pub struct Member {
    /// Its name; of a tuple, its number.
    pub name: &'static str,
    /// Its documentation, in one line.
    pub doc: &'static str,
    /// What it is made of.
    pub shape: fn() -> TypeShape,
    /// Whether its absence is an error.
    pub is_required: bool,
    /// Whether it is left out where it is empty, none or 0.
    pub omit_empty: bool,
    /// Its key in a native plan; empty: none.
    pub key: &'static str,
    /// The syntax of its value there, where its type does not tell it.
    pub form: &'static str,
    /// What a print says of it, with `{}` for its value.
    pub phrase: &'static str,
    /// Whether its own fields' keys stand among those of its parent.
    pub is_flat: bool,
    /// Whether a value that is no table is this field's.
    pub is_bare: bool,
    /// Whether 0 is refused.
    pub is_positive: bool,
    /// Whether a plan must say it.
    pub is_needed: bool,
}

impl Variant {
    /// A newtype that no plan names.
    const NEWTYPE: Variant = Variant {
        word: "",
        key: "",
        phrase: "",
        doc: "",
        form: FieldForm::Newtype,
        names: &["0"],
        members: &[],
    };
}

impl Member {
    /// The field of a newtype that no plan names; its shape is still to be set.
    pub const PLAIN: Member = Member {
        name: "0",
        doc: "",
        shape: bool::shape,
        is_required: true,
        omit_empty: false,
        key: "",
        form: "",
        phrase: "",
        is_flat: false,
        is_bare: false,
        is_positive: false,
        is_needed: false,
    };
}

/// A struct or an enum whose fields are found by number.
pub trait Composite: Any {
    /// The type's table.
    fn table(&self) -> &'static TypeTable;

    /// The variant of this value; 0 of a struct.
    fn variant(&self) -> usize;

    /// Makes it a blank of that variant; of a struct, a blank.
    fn set_variant(&mut self, variant: usize);

    /// A field of the present variant.
    ///
    /// # Panics
    /// Where it has no such field.
    fn field(&self, index: usize) -> &dyn Reflect;

    /// The same to be filled in.
    ///
    /// # Panics
    /// Where it has no such field.
    fn field_mut(&mut self, index: usize) -> &mut dyn Reflect;
}

/// A value or none.
pub trait Optional: Any {
    /// The value.
    fn get(&self) -> Option<&dyn Reflect>;

    /// A blank in its place.
    fn fill(&mut self) -> &mut dyn Reflect;

    /// None in its place.
    fn clear(&mut self);
}

/// Any number of values of one type.
pub trait List: Any {
    /// How many.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// Where there are fewer.
    fn item(&self, index: usize) -> &dyn Reflect;

    /// Another one at the end, blank.
    fn push(&mut self) -> &mut dyn Reflect;

    /// None of them any more.
    fn clear(&mut self);
}

/// One value of each of some types.
pub trait Tuple: Any {
    /// How many.
    fn arity(&self) -> usize;

    /// One of them.
    ///
    /// # Panics
    /// Where there are fewer.
    fn item(&self, index: usize) -> &dyn Reflect;

    /// The same to be filled in.
    ///
    /// # Panics
    /// Where there are fewer.
    fn item_mut(&mut self, index: usize) -> &mut dyn Reflect;
}

/// A value for a writer.
#[allow(missing_docs)]
pub enum ReflectRef<'a> {
    Bool(bool),
    Unsigned(u64),
    Wide(u128),
    Signed(i64),
    Float(f64),
    Text(&'a str),
    Optional(&'a dyn Optional),
    List(&'a dyn List),
    Tuple(&'a dyn Tuple),
    Composite(&'a dyn Composite),
}

impl ReflectRef<'_> {
    /// Whether it is an empty list, none, or 0.
    fn is_empty(&self) -> bool {
        match self {
            ReflectRef::Unsigned(number) => *number == 0,
            ReflectRef::Optional(value) => value.get().is_none(),
            ReflectRef::List(list) => list.is_empty(),
            _ => false,
        }
    }
}

/// A value for a reader.
#[allow(missing_docs)]
pub enum ReflectMut<'a> {
    Bool(&'a mut bool),
    U8(&'a mut u8),
    U16(&'a mut u16),
    U32(&'a mut u32),
    U64(&'a mut u64),
    U128(&'a mut u128),
    Usize(&'a mut usize),
    I32(&'a mut i32),
    I64(&'a mut i64),
    F64(&'a mut f64),
    Text(&'a mut String),
    SharedText(&'a mut Arc<str>),
    Scalar(&'a mut dyn Scalar),
    Optional(&'a mut dyn Optional),
    List(&'a mut dyn List),
    Tuple(&'a mut dyn Tuple),
    Composite(&'a mut dyn Composite),
}

impl<'a> ReflectMut<'a> {
    /// The value for who knows its type; none of text.
    pub fn any(self) -> Option<&'a mut dyn Any> {
        Some(match self {
            ReflectMut::U16(value) => value,
            ReflectMut::U32(value) => value,
            ReflectMut::U64(value) => value,
            ReflectMut::I32(value) => value,
            ReflectMut::F64(value) => value,
            ReflectMut::Optional(value) => value,
            ReflectMut::List(value) => value,
            ReflectMut::Tuple(value) => value,
            ReflectMut::Composite(value) => value,
            _ => return None,
        })
    }
}
