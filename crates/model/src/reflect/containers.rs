//! The tables of options, lists, tuples and pointers.

use std::sync::Arc;

use super::{
    Composite, List, Member, Optional, Reflect, ReflectMut, ReflectRef, Tuple, TypeShape, TypeTable, Variant,
};

impl<T: Reflect> Reflect for Option<T> {
    fn shape() -> TypeShape {
        TypeShape::Optional(T::shape)
    }

    fn blank() -> Self {
        None
    }

    fn view(&self) -> ReflectRef<'_> {
        ReflectRef::Optional(self)
    }

    fn slot(&mut self) -> ReflectMut<'_> {
        ReflectMut::Optional(self)
    }
}

impl<T: Reflect> Optional for Option<T> {
    fn get(&self) -> Option<&dyn Reflect> {
        self.as_ref().map(|value| value as &dyn Reflect)
    }

    fn fill(&mut self) -> &mut dyn Reflect {
        self.insert(T::blank())
    }

    fn clear(&mut self) {
        *self = None;
    }
}

impl<T: Reflect> Reflect for Vec<T> {
    fn shape() -> TypeShape {
        TypeShape::List(T::shape)
    }

    fn blank() -> Self {
        Vec::new()
    }

    fn view(&self) -> ReflectRef<'_> {
        ReflectRef::List(self)
    }

    fn slot(&mut self) -> ReflectMut<'_> {
        ReflectMut::List(self)
    }
}

impl<T: Reflect> List for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn item(&self, index: usize) -> &dyn Reflect {
        &self[index]
    }

    fn push(&mut self) -> &mut dyn Reflect {
        Vec::push(self, T::blank());
        let last = self.len() - 1;
        &mut self[last]
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }
}

macro_rules! tuples {
    ($($kind:ty [$($bound:tt)*] = $arity:literal, $blank:expr, [$($shape:expr),*], $($index:pat => $item:tt),*;)*) => {$(
        impl<$($bound)*> Reflect for $kind {
            fn shape() -> TypeShape {
                TypeShape::Tuple(&[$($shape),*])
            }

            fn blank() -> Self {
                $blank
            }

            fn view(&self) -> ReflectRef<'_> {
                ReflectRef::Tuple(self)
            }

            fn slot(&mut self) -> ReflectMut<'_> {
                ReflectMut::Tuple(self)
            }
        }
        tuples!(@items $kind [$($bound)*] = $arity, $($index => $item),*);
    )*};
    (@items $kind:ty [$($bound:tt)*] = $arity:literal, $($index:pat => $item:tt),*) => {
        impl<$($bound)*> Tuple for $kind {
            fn arity(&self) -> usize {
                $arity
            }

            fn item(&self, index: usize) -> &dyn Reflect {
                match index { $($index => tuples!(@get &, self, index, $item)),* }
            }

            fn item_mut(&mut self, index: usize) -> &mut dyn Reflect {
                match index { $($index => tuples!(@get &mut, self, index, $item)),* }
            }
        }
    };
    (@get &, $of:ident, $index:ident, index) => { &$of[$index] };
    (@get &mut, $of:ident, $index:ident, index) => { &mut $of[$index] };
    (@get &, $of:ident, $index:ident, $item:tt) => { &$of.$item };
    (@get &mut, $of:ident, $index:ident, $item:tt) => { &mut $of.$item };
}

tuples! {
    (A, B) [A: Reflect, B: Reflect] = 2, (A::blank(), B::blank()), [A::shape, B::shape], 0 => 0, _ => 1;
    (A, B, C) [A: Reflect, B: Reflect, C: Reflect] = 3, (A::blank(), B::blank(), C::blank()),
        [A::shape, B::shape, C::shape], 0 => 0, 1 => 1, _ => 2;
    [T; 3] [T: Reflect] = 3, [T::blank(), T::blank(), T::blank()], [T::shape, T::shape, T::shape], _ => index;
}

macro_rules! pointers {
    ($($kind:ty [$($bound:tt)*] $inner:ident: $exclusive:expr;)*) => {$(
        impl<T: $($bound)*> Reflect for $kind {
            fn shape() -> TypeShape {
                T::shape()
            }

            fn blank() -> Self {
                T::blank().into()
            }

            fn view(&self) -> ReflectRef<'_> {
                (**self).view()
            }

            fn slot(&mut self) -> ReflectMut<'_> {
                let $inner = self;
                $exclusive.slot()
            }
        }
    )*};
}

pointers! {
    Box<T> [Reflect] inner: (**inner);
    Arc<T> [Reflect + Clone] inner: Arc::make_mut(inner);
}

impl<T: Reflect, E: Reflect> Reflect for Result<T, E> {
    fn shape() -> TypeShape {
        TypeShape::Composite(&TypeTable {
            name: "Result",
            doc: "",
            is_enum: true,
            words: &["ok", "err"],
            variants: &[
                Variant {
                    word: "ok",
                    members: &[Member { shape: T::shape, ..Member::PLAIN }],
                    ..Variant::NEWTYPE
                },
                Variant {
                    word: "err",
                    members: &[Member { shape: E::shape, ..Member::PLAIN }],
                    ..Variant::NEWTYPE
                },
            ],
        })
    }

    fn blank() -> Self {
        Ok(T::blank())
    }

    fn view(&self) -> ReflectRef<'_> {
        ReflectRef::Composite(self)
    }

    fn slot(&mut self) -> ReflectMut<'_> {
        ReflectMut::Composite(self)
    }
}

impl<T: Reflect, E: Reflect> Composite for Result<T, E> {
    fn table(&self) -> &'static TypeTable {
        match Self::shape() {
            TypeShape::Composite(table) => table,
            _ => unreachable!(),
        }
    }

    fn variant(&self) -> usize {
        usize::from(self.is_err())
    }

    fn set_variant(&mut self, variant: usize) {
        *self = if variant == 0 { Ok(T::blank()) } else { Err(E::blank()) };
    }

    fn field(&self, _index: usize) -> &dyn Reflect {
        match self {
            Ok(value) => value,
            Err(error) => error,
        }
    }

    fn field_mut(&mut self, _index: usize) -> &mut dyn Reflect {
        match self {
            Ok(value) => value,
            Err(error) => error,
        }
    }
}
