//! Writes a value by its table, in every format that `serde` knows. Compiled once for each format, not for each type.

use serde::ser::{
    Error, Serialize, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleVariant, Serializer,
};

use super::{Composite, FieldForm, Reflect, ReflectRef, Variant};

/// Writes a value as `serde`'s derived functions would: structs by field, enums by the word of their variant.
///
/// # Errors
/// Those of the writer.
pub fn write<S: Serializer>(value: &dyn Reflect, writer: S) -> Result<S::Ok, S::Error> {
    match value.view() {
        ReflectRef::Bool(value) => writer.serialize_bool(value),
        ReflectRef::Unsigned(value) => writer.serialize_u64(value),
        ReflectRef::Wide(value) => writer.serialize_u128(value),
        ReflectRef::Signed(value) => writer.serialize_i64(value),
        ReflectRef::Float(value) => writer.serialize_f64(value),
        ReflectRef::Text(value) => writer.serialize_str(value),
        ReflectRef::Optional(value) => match value.get() {
            Some(value) => writer.serialize_some(&ElementRef(value)),
            None => writer.serialize_none(),
        },
        ReflectRef::List(list) => {
            let mut items = writer.serialize_seq(Some(list.len()))?;
            (0..list.len()).try_for_each(|index| items.serialize_element(&ElementRef(list.item(index))))?;
            items.end()
        }
        ReflectRef::Tuple(tuple) => {
            let mut items = writer.serialize_tuple(tuple.arity())?;
            (0..tuple.arity())
                .try_for_each(|index| items.serialize_element(&ElementRef(tuple.item(index))))?;
            items.end()
        }
        ReflectRef::Composite(value) => composite(value, writer),
    }
}

/// A value within a value.
struct ElementRef<'a>(&'a dyn Reflect);

impl Serialize for ElementRef<'_> {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        write(self.0, writer)
    }
}

fn composite<S: Serializer>(value: &dyn Composite, writer: S) -> Result<S::Ok, S::Error> {
    let (table, index) = (value.table(), value.variant());
    let variant = &table.variants[index];
    let (name, word, number) = (table.name, variant.word, index as u32);
    if !table.is_enum {
        if variant.form != FieldForm::Named {
            return Err(S::Error::custom(format!("{name} is a struct without names of fields")));
        }
        let mut fields = writer.serialize_struct(name, written(value, variant).count())?;
        for (member, is_written) in members(value, variant) {
            match is_written {
                true => fields.serialize_field(variant.names[member], &ElementRef(value.field(member)))?,
                false => fields.skip_field(variant.names[member])?,
            }
        }
        return fields.end();
    }
    match variant.form {
        FieldForm::Unit => writer.serialize_unit_variant(name, number, word),
        FieldForm::Newtype => {
            writer.serialize_newtype_variant(name, number, word, &ElementRef(value.field(0)))
        }
        FieldForm::Tuple => {
            let count = variant.members.len();
            let mut items = writer.serialize_tuple_variant(name, number, word, count)?;
            (0..count).try_for_each(|member| items.serialize_field(&ElementRef(value.field(member))))?;
            items.end()
        }
        FieldForm::Named => {
            let count = written(value, variant).count();
            let mut fields = writer.serialize_struct_variant(name, number, word, count)?;
            for member in written(value, variant) {
                fields.serialize_field(variant.names[member], &ElementRef(value.field(member)))?;
            }
            fields.end()
        }
    }
}

/// Fields by number, and whether each is written.
fn members<'a>(value: &'a dyn Composite, variant: &'a Variant) -> impl Iterator<Item = (usize, bool)> + 'a {
    let is_written =
        |index: usize| !variant.members[index].omit_empty || !value.field(index).view().is_empty();
    (0..variant.members.len()).map(move |index| (index, is_written(index)))
}

fn written<'a>(value: &'a dyn Composite, variant: &'a Variant) -> impl Iterator<Item = usize> + 'a {
    members(value, variant).filter(|(_, is_written)| *is_written).map(|(index, _)| index)
}
