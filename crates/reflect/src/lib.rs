//! `#[derive(Reflect)]`: the table of a type's fields, from which every format of the model is read and written.
//!
//! The derived code is a static table and five small functions for each type. The interpreters in `iodyno_model::reflect`
//! are compiled once for each format; `serde`'s derived functions were compiled once for each type and format.
//!
//! Names of variants are written in `snake_case`. Attributes, all of them `#[reflect(…)]`:
//!
//! - `default`, `default = EXPRESSION` on a field: its value where it is absent; without it, absence is an error
//!   (an `Option` that is absent is `None`);
//! - `skip` on a field: it is neither written nor read, and has its type's default;
//! - `omit_empty` on a field: `default`, and it is not written where it is empty, `None` or 0;
//! - `name = "WORD"` on a variant: its word;
//! - `kebab` on an enum: words in `kebab-case`.
//!
//! How it is written in a native plan, and how its print puts it into words:
//!
//! - `key = "KEY"` on a field or variant: its key or word there; without it, the name without its unit; empty: it has none;
//! - `flat` on a field: the keys of its struct stand among those of its parent;
//! - `bare` on a field: a value that is no table is this field's;
//! - `positive` on a field: 0 is refused;
//! - `needed` on a field: the plan must say it;
//! - `absent = EXPRESSION` on a field: what a required field is where a plan does not say it;
//! - `form = "NAME"` on a field: the syntax of its value, where its type does not tell it;
//! - `phrase = "TEXT"` on a field or variant: what a print says of it, with `{}` for its value.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result, Variant};

/// Interpreters keep the fields that they have seen in 64 bits.
const MOST_FIELDS: usize = 64;

/// Derives `iodyno_model::reflect::{Reflect, Composite}` and the traits of `serde` on top of them.
#[proc_macro_derive(Reflect, attributes(reflect))]
pub fn reflect(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// What the attributes of a type, a variant or a field say.
#[derive(Default)]
struct Attributes {
    default: Option<Option<Expr>>,
    omit_empty: bool,
    skip: bool,
    name: Option<String>,
    kebab: bool,
    doc: String,
    key: Option<String>,
    form: String,
    phrase: String,
    absent: Option<Expr>,
    flags: Vec<Ident>,
}

impl Attributes {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Attributes::default();
        for attribute in attributes {
            if attribute.path().is_ident("doc") {
                let text: String = match &attribute.meta.require_name_value()?.value {
                    Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.value(),
                    _ => continue,
                };
                found.doc = [found.doc.as_str(), text.trim()].join(" ").trim().into();
            }
            if !attribute.path().is_ident("reflect") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                match meta.path.require_ident()?.to_string().as_str() {
                    "default" => {
                        found.default = Some(meta.value().ok().map(|value| value.parse()).transpose()?)
                    }
                    "omit_empty" => (found.omit_empty, found.default) = (true, Some(None)),
                    "skip" => (found.skip, found.default) = (true, Some(None)),
                    "name" => found.name = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "kebab" => found.kebab = true,
                    "key" => found.key = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "form" => found.form = meta.value()?.parse::<LitStr>()?.value(),
                    "phrase" => found.phrase = meta.value()?.parse::<LitStr>()?.value(),
                    "absent" => found.absent = Some(meta.value()?.parse()?),
                    "flat" | "bare" | "positive" | "needed" => {
                        found.flags.push(meta.path.require_ident()?.clone());
                    }
                    _ => return Err(meta.error("no attribute of `reflect`: see its documentation")),
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// A struct, or a variant of an enum.
struct VariantSource<'a> {
    /// How it is written in patterns and constructors: `Self`, `Self::Variant`.
    path: TokenStream,
    word: String,
    key: String,
    phrase: String,
    doc: String,
    fields: &'a Fields,
}

fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = Attributes::of(&input.attrs)?;
    let (is_enum, shapes) = match &input.data {
        Data::Struct(data) => {
            let word = input.ident.to_string();
            let (key, phrase, doc) = Default::default();
            (false, vec![VariantSource { path: quote!(Self), word, key, phrase, doc, fields: &data.fields }])
        }
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| variant_shape(variant, attributes.kebab));
            (true, variants.collect::<Result<Vec<_>>>()?)
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "a union has no fields to tell apart")),
    };
    let composite = composite(input, &shapes)?;
    let table = table(input, &attributes.doc, is_enum, &shapes)?;
    let blank = blank(&shapes[0])?;
    let name = &input.ident;
    let mut generics = input.generics.clone();
    generics.type_params_mut().for_each(|parameter| {
        parameter.bounds.push(syn::parse_quote!(::iodyno_model::reflect::Reflect));
    });
    let (bounds, arguments, wheres) = generics.split_for_impl();
    let mut reading = generics.clone();
    reading.params.insert(0, syn::parse_quote!('de));
    let (reading, ..) = reading.split_for_impl();
    Ok(quote! {
        impl #bounds ::iodyno_model::reflect::Reflect for #name #arguments #wheres {
            fn shape() -> ::iodyno_model::reflect::TypeShape {
                ::iodyno_model::reflect::TypeShape::Composite(#table)
            }
            fn blank() -> Self {
                #blank
            }
            fn view(&self) -> ::iodyno_model::reflect::ReflectRef<'_> {
                ::iodyno_model::reflect::ReflectRef::Composite(self)
            }
            fn slot(&mut self) -> ::iodyno_model::reflect::ReflectMut<'_> {
                ::iodyno_model::reflect::ReflectMut::Composite(self)
            }        }
        impl #bounds ::iodyno_model::reflect::Composite for #name #arguments #wheres {
            #composite
        }
        impl #bounds ::iodyno_model::reflect::serde::Serialize for #name #arguments #wheres {
            fn serialize<S: ::iodyno_model::reflect::serde::Serializer>(&self, writer: S) -> ::core::result::Result<S::Ok, S::Error> {
                ::iodyno_model::reflect::write(self, writer)
            }
        }
        impl #reading ::iodyno_model::reflect::serde::Deserialize<'de> for #name #arguments #wheres {
            fn deserialize<D: ::iodyno_model::reflect::serde::Deserializer<'de>>(reader: D) -> ::core::result::Result<Self, D::Error> {
                let mut value = <Self as ::iodyno_model::reflect::Reflect>::blank();
                ::iodyno_model::reflect::read(&mut value, reader)?;
                Ok(value)
            }
        }
    })
}

fn variant_shape(variant: &Variant, kebab: bool) -> Result<VariantSource<'_>> {
    let attributes = Attributes::of(&variant.attrs)?;
    let ident = &variant.ident;
    let word = attributes.name.unwrap_or_else(|| word(&ident.to_string(), if kebab { '-' } else { '_' }));
    let key = attributes.key.unwrap_or_else(|| word.replace('_', " "));
    let Attributes { doc, phrase, .. } = attributes;
    Ok(VariantSource { path: quote!(Self::#ident), word, key, phrase, doc, fields: &variant.fields })
}

/// `AsRecorded` as `as_recorded`.
fn word(name: &str, between: char) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push(between);
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// The expression of the table, which the compiler keeps as a constant.
fn table(input: &DeriveInput, doc: &str, is_enum: bool, shapes: &[VariantSource<'_>]) -> Result<TokenStream> {
    let name = input.ident.to_string();
    let words = shapes.iter().map(|shape| &shape.word);
    let variants = shapes.iter().map(variant_table).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        &::iodyno_model::reflect::TypeTable {
            name: #name,
            doc: #doc,
            is_enum: #is_enum,
            words: &[#(#words),*],
            variants: &[#(#variants),*],
        }
    })
}

fn variant_table(shape: &VariantSource<'_>) -> Result<TokenStream> {
    let VariantSource { word, key, phrase, doc, fields, .. } = shape;
    if fields.len() > MOST_FIELDS {
        return Err(Error::new_spanned(fields, format!("more than {MOST_FIELDS} fields")));
    }
    let form = match fields {
        Fields::Unit => quote!(Unit),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => quote!(Newtype),
        Fields::Unnamed(_) => quote!(Tuple),
        Fields::Named(_) => quote!(Named),
    };
    let fields = written(fields)?;
    let names = fields.iter().map(|(index, field)| field_name(*index, field));
    let members = fields.iter().map(|(index, field)| member(*index, field)).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        ::iodyno_model::reflect::Variant {
            word: #word,
            key: #key,
            phrase: #phrase,
            doc: #doc,
            form: ::iodyno_model::reflect::FieldForm::#form,
            names: &[#(#names),*],
            members: &[#(#members),*],
        }
    })
}

/// The fields that are written, with their places.
fn written(fields: &Fields) -> Result<Vec<(usize, &Field)>> {
    let all = fields
        .iter()
        .enumerate()
        .map(|(place, field)| Ok((Attributes::of(&field.attrs)?.skip, place, field)));
    let all = all.collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(|(skip, ..)| !skip).map(|(_, place, field)| (place, field)).collect())
}

fn field_name(index: usize, field: &Field) -> String {
    field.ident.as_ref().map_or_else(|| index.to_string(), |ident| ident.to_string())
}

fn member(index: usize, field: &Field) -> Result<TokenStream> {
    let Attributes { default, omit_empty, doc, key, form, phrase, flags, .. } = Attributes::of(&field.attrs)?;
    let (name, kind) = (field_name(index, field), &field.ty);
    let key = key.unwrap_or_else(|| native_key(&name).into());
    let [flat, bare, positive, needed] =
        ["flat", "bare", "positive", "needed"].map(|name| flags.iter().any(|flag| flag == name));
    let is_required = default.is_none() && !is_option(kind);
    Ok(quote! {
        ::iodyno_model::reflect::Member {
            name: #name,
            doc: #doc,
            shape: <#kind as ::iodyno_model::reflect::Reflect>::shape,
            is_required: #is_required,
            omit_empty: #omit_empty,
            key: #key,
            form: #form,
            phrase: #phrase,
            is_flat: #flat,
            is_bare: #bare,
            is_positive: #positive,
            is_needed: #needed,
        }
    })
}

/// A field's name without its unit; where something was written is not said by a plan.
fn native_key(name: &str) -> &str {
    match name {
        "origin" => "",
        name => ["_ns", "_bytes", "_percent"].iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name),
    }
}

fn is_option(kind: &syn::Type) -> bool {
    matches!(kind, syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option"))
}

/// A value to be filled in: required fields hold blanks, the others what they are where they are absent.
fn blank(shape: &VariantSource<'_>) -> Result<TokenStream> {
    let path = &shape.path;
    let value = |field: &Field| -> Result<TokenStream> {
        let Attributes { default, absent, .. } = Attributes::of(&field.attrs)?;
        Ok(match (default, absent) {
            (Some(Some(expression)), _) | (None, Some(expression)) => quote!(#expression),
            (Some(None), _) => quote!(::core::default::Default::default()),
            (None, None) => quote!(::iodyno_model::reflect::Reflect::blank()),
        })
    };
    let values = shape.fields.iter().map(value).collect::<Result<Vec<_>>>()?;
    Ok(match shape.fields {
        Fields::Unit => quote!(#path),
        Fields::Unnamed(_) => quote!(#path(#(#values),*)),
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!(#path { #(#names: #values),* })
        }
    })
}

/// The functions that find a value's variant and its fields.
fn composite(input: &DeriveInput, shapes: &[VariantSource<'_>]) -> Result<TokenStream> {
    let blanks = shapes.iter().map(blank).collect::<Result<Vec<_>>>()?;
    let numbers = 0..shapes.len();
    let first = numbers.clone().map(|index| {
        let path = &shapes[index].path;
        quote!(#path { .. } => #index,)
    });
    let arms = arms(shapes)?;
    let missing = format!("a field of {}", input.ident);
    Ok(quote! {
        fn table(&self) -> &'static ::iodyno_model::reflect::TypeTable {
            match <Self as ::iodyno_model::reflect::Reflect>::shape() {
                ::iodyno_model::reflect::TypeShape::Composite(table) => table,
                _ => ::core::unreachable!(),
            }
        }
        fn variant(&self) -> usize {
            match self { #(#first)* }
        }
        fn set_variant(&mut self, variant: usize) {
            *self = match variant { #(#numbers => #blanks,)* _ => return }
        }
        fn field(&self, index: usize) -> &dyn ::iodyno_model::reflect::Reflect {
            match (self, index) { #(#arms)* _ => ::core::unreachable!(#missing) }
        }
        fn field_mut(&mut self, index: usize) -> &mut dyn ::iodyno_model::reflect::Reflect {
            match (self, index) { #(#arms)* _ => ::core::unreachable!(#missing) }
        }
    })
}

/// An arm for each field: its variant and its number.
fn arms(shapes: &[VariantSource<'_>]) -> Result<Vec<TokenStream>> {
    let arm = |path: &TokenStream, number: usize, place: usize, ident: &Option<Ident>| match ident {
        Some(ident) => quote!((#path { #ident, .. }, #number) => #ident,),
        None => {
            let place = syn::Index::from(place);
            quote!((#path { #place: field, .. }, #number) => field,)
        }
    };
    let mut all = Vec::new();
    for shape in shapes {
        let fields = written(shape.fields)?;
        let each = fields.iter().enumerate();
        all.extend(each.map(|(number, (place, field))| arm(&shape.path, number, *place, &field.ident)));
    }
    Ok(all)
}
