//! Where there is no epoll there is no engine, but other clients of stores have the same settings.

pub mod settings;
