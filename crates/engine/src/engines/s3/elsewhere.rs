//! Where there is no epoll there is no engine, but other clients of stores have the same settings.

pub mod blocking;
mod instance;
mod peer;
pub mod settings;
#[cfg_attr(not(feature = "tls"), path = "tls_absent.rs")]
mod tls;

/// Core dumps are not told to leave pages out.
mod secret_pages {
    use std::ops::{Deref, DerefMut};

    use crate::failure::Failure;

    pub struct SecretPages<T>(Box<T>);

    impl<T> SecretPages<T> {
        pub fn new(value: T) -> Result<SecretPages<T>, Failure> {
            Ok(SecretPages(Box::new(value)))
        }
    }

    impl<T> Deref for SecretPages<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for SecretPages<T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }
}
