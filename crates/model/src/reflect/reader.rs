//! Fills in a value by its table, from every format that `serde` knows. Compiled once for each format, not for each type.
//!
//! Takes what `serde`'s derived functions take: fields by name or in their order, unknown ones left out, variants by word
//! or number.

use std::fmt::{self, Formatter};

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::{Composite, FieldForm, List, Optional, Reflect, ReflectMut, Scalar, Tuple, TypeTable, Variant};

/// Fills in a blank.
///
/// # Errors
/// Those of the reader, and where the source is not of such a value; what was filled in before then stays.
pub fn read<'de, D: Deserializer<'de>>(value: &mut dyn Reflect, reader: D) -> Result<(), D::Error> {
    match value.slot() {
        ReflectMut::Bool(slot) => *slot = bool::deserialize(reader)?,
        ReflectMut::U8(slot) => *slot = whole_number(reader, "u8")?,
        ReflectMut::U16(slot) => *slot = whole_number(reader, "u16")?,
        ReflectMut::U32(slot) => *slot = whole_number(reader, "u32")?,
        ReflectMut::U64(slot) => *slot = whole_number(reader, "u64")?,
        ReflectMut::Usize(slot) => *slot = whole_number(reader, "usize")?,
        ReflectMut::I32(slot) => *slot = whole_number(reader, "i32")?,
        ReflectMut::I64(slot) => *slot = whole_number(reader, "i64")?,
        ReflectMut::U128(slot) => *slot = u128::deserialize(reader)?,
        ReflectMut::F64(slot) => *slot = f64::deserialize(reader)?,
        ReflectMut::Text(slot) => *slot = String::deserialize(reader)?,
        ReflectMut::SharedText(slot) => *slot = String::deserialize(reader)?.into(),
        ReflectMut::Scalar(slot) => reader.deserialize_any(ScalarVisitor(slot))?,
        ReflectMut::Optional(slot) => reader.deserialize_option(OptionalVisitor(slot))?,
        ReflectMut::List(slot) => reader.deserialize_seq(ListVisitor(slot))?,
        ReflectMut::Tuple(slot) => {
            let arity = slot.arity();
            reader.deserialize_tuple(arity, TupleVisitor(slot))?;
        }
        ReflectMut::Composite(slot) => {
            let table = slot.table();
            match table.is_enum {
                true => reader.deserialize_enum(table.name, table.words, EnumVisitor { slot, table })?,
                false => {
                    let variant = &table.variants[0];
                    let fields = FieldsVisitor { slot, variant, name: table.name };
                    reader.deserialize_struct(table.name, variant.names, fields)?;
                }
            }
        }
    }
    Ok(())
}

/// A whole number of some type; all types share one visitor, as each one's own would be compiled for each format.
fn whole_number<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    reader: D,
    kind: &'static str,
) -> Result<T, D::Error> {
    let number = match kind.starts_with('i') {
        true => reader.deserialize_i64(WholeVisitor)?,
        false => reader.deserialize_u64(WholeVisitor)?,
    };
    let found = || match u64::try_from(number) {
        Ok(number) => Unexpected::Unsigned(number),
        Err(_) => Unexpected::Signed(number as i64),
    };
    T::try_from(number).map_err(|_| D::Error::invalid_value(found(), &kind))
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = i128;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i128, E> {
        Ok(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i128, E> {
        Ok(number.into())
    }
}

/// A place within a value that is filled in.
struct ElementMut<'a>(&'a mut dyn Reflect);

impl<'de> DeserializeSeed<'de> for ElementMut<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        read(self.0, reader)
    }
}

struct ScalarVisitor<'a>(&'a mut dyn Scalar);

impl<'de> Visitor<'de> for ScalarVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a bool, a number of at least 0 or text")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.set_bool(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.set_number(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        let number = u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))?;
        self.visit_u64(number)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.set_text(value);
        Ok(())
    }
}

struct OptionalVisitor<'a>(&'a mut dyn Optional);

impl<'de> Visitor<'de> for OptionalVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a value or none")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.0.clear();
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        read(self.0.fill(), reader)
    }
}

struct ListVisitor<'a>(&'a mut dyn List);

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.clear();
        loop {
            // Whether there is another one is known only when it is asked for.
            let next = items.next_element_seed(Item { list: &mut *self.0 })?;
            if next.is_none() {
                return Ok(());
            }
        }
    }
}

/// The next item of a list, made when it comes.
struct Item<'a> {
    list: &'a mut dyn List,
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        read(self.list.push(), reader)
    }
}

struct TupleVisitor<'a>(&'a mut dyn Tuple);

impl<'de> Visitor<'de> for TupleVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", self.0.arity())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0..self.0.arity() {
            if items.next_element_seed(ElementMut(self.0.item_mut(index)))?.is_none() {
                return Err(A::Error::invalid_length(index, &self));
            }
        }
        Ok(())
    }
}

/// The fields of a struct, or of a variant.
struct FieldsVisitor<'a> {
    slot: &'a mut dyn Composite,
    variant: &'static Variant,
    name: &'static str,
}

impl<'de> Visitor<'de> for FieldsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the fields of {}", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let FieldsVisitor { slot, variant, .. } = self;
        let mut seen = 0u64;
        while let Some(index) = fields.next_key_seed(NameSeed(variant.names))? {
            let Some(index) = index else {
                fields.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen >> index & 1 == 1 {
                return Err(A::Error::duplicate_field(variant.names[index]));
            }
            seen |= 1 << index;
            fields.next_value_seed(ElementMut(slot.field_mut(index)))?;
        }
        let is_missing = |index: &usize| variant.members[*index].is_required && seen >> index & 1 == 0;
        match (0..variant.members.len()).find(is_missing) {
            Some(index) => Err(A::Error::missing_field(variant.names[index])),
            None => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for (index, member) in self.variant.members.iter().enumerate() {
            let next = items.next_element_seed(ElementMut(self.slot.field_mut(index)))?;
            if next.is_none() && member.is_required {
                return Err(A::Error::invalid_length(index, &self));
            }
        }
        Ok(())
    }
}

struct EnumVisitor<'a> {
    slot: &'a mut dyn Composite,
    table: &'static TypeTable,
}

impl<'de> Visitor<'de> for EnumVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "a variant of {}", self.table.name)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, source: A) -> Result<(), A::Error> {
        let EnumVisitor { slot, table } = self;
        let (index, content) = source.variant_seed(VariantSeed(table))?;
        slot.set_variant(index);
        let variant = &table.variants[index];
        let fields = FieldsVisitor { slot, variant, name: variant.word };
        match variant.form {
            FieldForm::Unit => content.unit_variant(),
            FieldForm::Newtype => content.newtype_variant_seed(ElementMut(fields.slot.field_mut(0))),
            FieldForm::Tuple => content.tuple_variant(variant.members.len(), fields),
            FieldForm::Named => content.struct_variant(variant.names, fields),
        }
    }
}

/// A word of a list, as its number; none: another word.
struct NameSeed(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<usize>, D::Error> {
        reader.deserialize_identifier(self)
    }
}

impl Visitor<'_> for NameSeed {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|name| *name == word))
    }

    fn visit_bytes<E: Error>(self, word: &[u8]) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|name| name.as_bytes() == word))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<usize>, E> {
        Ok(usize::try_from(number).ok().filter(|number| *number < self.0.len()))
    }
}

/// The variant of a table, by its word.
struct VariantSeed(&'static TypeTable);

impl<'de> DeserializeSeed<'de> for VariantSeed {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<usize, D::Error> {
        reader.deserialize_identifier(self)
    }
}

impl Visitor<'_> for VariantSeed {
    type Value = usize;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "a variant of {}", self.0.name)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<usize, E> {
        let found = NameSeed(self.0.words).visit_str(word)?;
        found.ok_or_else(|| E::unknown_variant(word, self.0.words))
    }

    fn visit_bytes<E: Error>(self, word: &[u8]) -> Result<usize, E> {
        let found = NameSeed(self.0.words).visit_bytes(word)?;
        found.ok_or_else(|| E::unknown_variant(&String::from_utf8_lossy(word), self.0.words))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<usize, E> {
        let found = NameSeed(self.0.words).visit_u64(number)?;
        found.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
}
