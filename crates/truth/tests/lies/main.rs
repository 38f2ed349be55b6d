//! Each known lie, staged as data, and an honest twin that must stay silent. No disk, no clock.

mod cache;
mod depth;
mod errors;
mod honest;
mod shared;
mod stage;
mod starved;
mod statistics;
mod storage;
mod stores;
mod target;
