//! What becomes of an operation: one request, a page after the other, or an upload in parts; and what its answers mean.

use iodyno_model::Verb;
use iodyno_s3::address::BucketAddress;
use iodyno_s3::body::{self, ErrorBody, ListPage, Part, RemovalError, VersionPage};
use iodyno_s3::request::{RequestClass, RequestHead};
use iodyno_s3::{BodySums, operation};

use super::connection::{Buffer, Outgoing};
use super::settings::{RangeLength, StoreSettings};
use super::tally::errno_of;
use super::{BACKOFF_NS, S3};
use crate::clock;
use crate::io::{Io, Slot};
use crate::objects::{BUCKET, ObjectPlace};
use crate::random::Random;

/// Keys of a page of a list, at most.
const PAGE_KEYS: u64 = 1000;

/// What the exchange of a lane is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// The operation as one request.
    #[default]
    Object,
    /// A page of a list.
    Page,
    /// An upload begins.
    Create,
    /// A part of it, by its index.
    Part(u32),
    /// A part of an upload that several workers share, by its index.
    SharedPart(u32),
    /// It becomes an object.
    Complete,
    /// It is given up.
    Abort,
    /// Several objects are removed.
    DeleteMany,
    /// A page of what lies below the prefix, to be removed.
    SweepPage,
    /// What the page named is removed.
    Sweep,
    /// The bucket is removed, which is empty.
    RemoveBucket,
}

/// The operation of a slot.
#[derive(Debug, Default)]
pub struct SlotWork {
    io: Io,
    place: ObjectPlace,
    /// The version that it is on, by the store's name; empty: requests name none.
    version: String,
    /// The bytes of the object that are read, where it is a part of them: from where, how many.
    range: Option<(u64, u64)>,
    /// Of a list: entries so far, and what asks for the next page.
    listed: u64,
    next_page: Option<String>,
    /// The same of a list of versions: a key and a version.
    next_version: Option<(String, String)>,
    upload: String,
    parts: Vec<Part>,
    /// Parts that were begun, and lanes that are at one.
    begun: u32,
    busy: u32,
    /// The first failure, as a result; 0: none.
    failed: i64,
    /// Slots whose objects go with its own, itself among them.
    together: Vec<Slot>,
    /// Keys that are removed because they lie below the prefix.
    swept: Vec<String>,
}

// SAFETY: the pointer is that of an operation in flight; the engine stays with its worker.
unsafe impl Send for SlotWork {}

impl SlotWork {
    /// The handle that it is on.
    pub fn file(&self) -> u32 {
        self.io.file
    }
}

impl S3 {
    /// Begins an operation.
    pub(super) fn begin(&mut self, slot: Slot, io: &Io) {
        let Some(Some(bucket)) = self.buckets.get(io.file as usize) else {
            return self.done.push((slot, -i64::from(libc::EBADF)));
        };
        let (place, object) = (bucket.set.place(io.verb, io.offset), bucket.set.object_bytes);
        let version = if self.names_version(io.verb) {
            let Some(version) = self.version(io.file, place.item) else {
                return self.done.push((slot, -i64::from(libc::ENOENT)));
            };
            version
        } else {
            String::new()
        };
        self.mark(slot, 0);
        let work = &mut self.slots[slot as usize];
        (work.io, work.place, work.version) = (*io, place, version);
        (work.listed, work.next_page, work.next_version, work.failed) = (0, None, None, 0);
        work.range = match io.verb {
            Verb::Read if io.bytes != object => Some((work.place.offset, io.bytes)),
            Verb::Open if io.bytes > 1 => drawn(self.settings.range, io.bytes, &mut self.random),
            _ => None,
        };
        let part = self.settings.part_bytes;
        let is_part = |(offset, bytes): (u64, u64)| {
            offset.is_multiple_of(part) && bytes == part.min(object.saturating_sub(offset))
        };
        let cuts =
            io.verb == Verb::Read && self.settings.reads_parts && !is_part((work.place.offset, io.bytes));
        let is_data = matches!(io.verb, Verb::Read | Verb::Write | Verb::Trim);
        let crosses = is_data && (object == 0 || work.place.offset + io.bytes > object);
        // It would cross the object's end, or remove more than it is told to.
        if crosses || cuts || (io.verb == Verb::Trim && io.bytes != object) {
            return self.done.push((slot, -i64::from(libc::EINVAL)));
        }
        if io.verb == Verb::Write && self.settings.shares_upload {
            let (part, offset) = (self.settings.part_bytes, work.place.offset);
            if !offset.is_multiple_of(part) || io.bytes > part {
                return self.done.push((slot, -i64::from(libc::EINVAL)));
            }
            self.tally.parts += 1;
            return self.start(self.lane_of(slot, 0), Purpose::SharedPart((offset / part) as u32));
        }
        let writes = matches!(io.verb, Verb::Write | Verb::Create);
        if io.verb == Verb::Unlink && self.settings.delete_batch > 1 {
            return self.gather(slot);
        }
        let purpose = match self.settings.parts(io.bytes) {
            Some(parts) if writes => {
                work.parts.clear();
                work.parts.resize(parts as usize, Part::default());
                (work.begun, work.busy) = (0, 0);
                Purpose::Create
            }
            _ if io.verb == Verb::Readdir => Purpose::Page,
            // Only whoever lays objects out asks for it: all that lies below the prefix goes.
            _ if io.verb == Verb::Rmdir && io.offset == BUCKET => Purpose::RemoveBucket,
            _ if io.verb == Verb::Rmdir => Purpose::SweepPage,
            _ => Purpose::Object,
        };
        self.start(self.lane_of(slot, 0), purpose);
    }

    /// Keeps a deletion for a request that removes several.
    fn gather(&mut self, slot: Slot) {
        let file = |slot: Slot| self.slots[slot as usize].io.file;
        if self.gathered.first().is_some_and(|first| file(*first) != file(slot)) {
            self.remove_gathered();
        }
        self.gathered.push(slot);
        if self.gathered.len() >= self.settings.delete_batch as usize {
            self.remove_gathered();
        }
    }

    /// Sends the request for the deletions that were gathered, if there are any.
    pub(super) fn remove_gathered(&mut self) {
        let Some(first) = self.gathered.first().copied() else { return };
        self.slots[first as usize].together = std::mem::take(&mut self.gathered);
        self.start(self.lane_of(first, 0), Purpose::DeleteMany);
    }

    /// The deletions of a request are over: with one result, but for the keys that could not be removed.
    fn removed(&mut self, slot: Slot, result: i64, stayed: &[RemovalError]) {
        for other in std::mem::take(&mut self.slots[slot as usize].together) {
            let (file, item) = (self.slots[other as usize].io.file, self.slots[other as usize].place.item);
            let key = self.key(file, item);
            let version = &self.slots[other as usize].version;
            let stays =
                |one: &&RemovalError| one.key == key && (version.is_empty() || one.version == *version);
            let code = stayed.iter().find(stays).map(|one| &one.code);
            let result = match code {
                Some(code) => {
                    self.tally.answer(200, code);
                    -i64::from(errno_of(200, code))
                }
                None => result,
            };
            self.finish(other, result);
        }
    }

    /// The key of an item of a bucket.
    pub(super) fn key(&mut self, file: u32, item: u64) -> String {
        let Some(Some(bucket)) = self.buckets.get(file as usize) else { return String::new() };
        let name = bucket.set.names.path(item / self.settings.versions, &mut self.path).to_string_lossy();
        format!("{}{name}", bucket.prefix)
    }

    /// The version that an item is, where it is one that is there.
    fn version(&mut self, file: u32, item: u64) -> Option<String> {
        let key = self.key(file, item);
        let bucket = self.buckets.get(file as usize)?.as_ref()?;
        bucket.versions.get(&key)?.get((item % self.settings.versions) as usize).cloned()
    }

    /// Whether an operation is on a version, which its requests name.
    fn names_version(&self, verb: Verb) -> bool {
        let is_read = matches!(verb, Verb::Read | Verb::Open | Verb::Stat);
        self.settings.names_versions() && (is_read || matches!(verb, Verb::Unlink | Verb::Setxattr))
    }

    fn lane_of(&self, slot: Slot, part: u32) -> usize {
        (slot * self.settings.parts_at_once + part) as usize
    }

    pub(super) fn slot_of(&self, lane: usize) -> Slot {
        (lane / self.settings.parts_at_once as usize) as Slot
    }

    /// Begins a request of an operation.
    fn start(&mut self, lane: usize, purpose: Purpose) {
        (self.lanes[lane].purpose, self.lanes[lane].attempts) = (purpose, 0);
        self.send(lane);
    }

    /// Sends the request that a lane is for, for the first time or again.
    pub(super) fn send(&mut self, lane: usize) {
        let slot = self.slot_of(lane);
        let of = &mut self.lanes[lane];
        self.endpoints.choose(lane, &mut of.endpoint, &mut of.connection);
        let (mut request, outgoing, sink) = self.request(lane, slot);
        request.has_customer_key = self.moves_object(lane, slot);
        let work = &self.slots[slot as usize];
        let (file, endpoint) = (work.io.file, self.lanes[lane].endpoint);
        if self.lanes[lane].purpose == Purpose::Object && !work.version.is_empty() {
            request = request.with("versionId", &work.version);
        }
        if self.settings.retention_days > 0 && request.class() == RequestClass::Delete {
            request = request.header(operation::BYPASS_GOVERNANCE, "true");
        }
        let Some(Some(bucket)) = self.buckets.get_mut(file as usize) else { return };
        bucket.sent += 1;
        self.tally.classes[request.class() as usize] += 1;
        let head = self.lanes[lane].connection.head();
        self.signer.write_head(&request, &bucket.at[endpoint].host, S3::time(), head);
        self.exchange(lane, outgoing, sink, request.method == "HEAD");
    }

    /// Whether a request is about what an object holds, so that a key that it is encrypted with goes along.
    fn moves_object(&self, lane: usize, slot: Slot) -> bool {
        match self.lanes[lane].purpose {
            Purpose::Create | Purpose::Part(_) | Purpose::SharedPart(_) | Purpose::Complete => true,
            Purpose::Object => !matches!(self.slots[slot as usize].io.verb, Verb::Unlink | Verb::Trim),
            _ => false,
        }
    }

    /// The request that a lane is for, what is sent behind it, and where an object's bytes go.
    fn request(&mut self, lane: usize, slot: Slot) -> (RequestHead, Outgoing, Buffer) {
        let (purpose, endpoint) = (self.lanes[lane].purpose, self.lanes[lane].endpoint);
        let work = &self.slots[slot as usize];
        let io = &work.io;
        let bucket = self.buckets[io.file as usize].as_ref().expect("the operation began on it");
        let at = &bucket.at[endpoint];
        let options = &self.settings.write;
        let mut key_of = |item: u64| {
            let name = bucket.set.names.path(item / self.settings.versions, &mut self.path).to_string_lossy();
            [bucket.prefix.as_str(), &name].concat()
        };
        let key = key_of(work.place.item);
        let whole = Buffer { start: io.buffer, bytes: io.bytes as usize };
        let (nothing, nowhere) = (Outgoing::Nothing, Buffer::NONE);
        match purpose {
            Purpose::Page if self.settings.names_versions() => {
                let next = work.next_version.as_ref();
                let after = next.map(|(key, version)| (key.as_str(), version.as_str()));
                (operation::list_versions(at, &bucket.prefix, after), nothing, nowhere)
            }
            Purpose::Page => {
                let most = if io.bytes == 0 { PAGE_KEYS } else { (io.bytes - work.listed).min(PAGE_KEYS) };
                (operation::list(at, &bucket.prefix, most, work.next_page.as_deref()), nothing, nowhere)
            }
            Purpose::Create => (operation::create_upload(at, &key, options), nothing, nowhere),
            Purpose::Part(index) | Purpose::SharedPart(index) => {
                let seat = self.uploads.iter().find(|seat| seat.file == io.file);
                let (part, id) = match seat {
                    Some(seat) => (whole, &seat.id),
                    None => (self.settings.part(whole, index), &work.upload),
                };
                let sums = self.settings.sums(part);
                self.lanes[lane].part_checksum = sums.of_part();
                (operation::upload_part(at, &key, (index + 1, id), &sums), Outgoing::Object(part), nowhere)
            }
            Purpose::Complete => {
                let text = body::complete_upload(&work.parts).into_bytes();
                let request = operation::complete_upload(at, &key, &work.upload, &text);
                (request, Outgoing::Text(text), nowhere)
            }
            Purpose::DeleteMany => {
                let item = |slot: &Slot| self.slots[*slot as usize].place.item;
                let keys: Vec<_> = work.together.iter().map(|slot| key_of(item(slot))).collect();
                let ids = work.together.iter().map(|slot| self.slots[*slot as usize].version.as_str());
                delete_many(at, keys.iter().map(String::as_str).zip(ids))
            }
            Purpose::SweepPage => (operation::list(at, &bucket.prefix, PAGE_KEYS, None), nothing, nowhere),
            Purpose::Sweep => delete_many(at, work.swept.iter().map(|key| (key.as_str(), ""))),
            Purpose::RemoveBucket => (operation::remove_bucket(at), nothing, nowhere),
            Purpose::Abort => (operation::abort_upload(at, &key, &work.upload), nothing, nowhere),
            Purpose::Object if io.verb == Verb::Clone => {
                let to = key_of(io.other);
                (operation::copy(at, &bucket.name, &key, &to, options), nothing, nowhere)
            }
            Purpose::Object if io.verb == Verb::Setxattr => {
                let text = body::retention(self.retained_until()).into_bytes();
                (operation::put_retention(at, &key, &text), Outgoing::Text(text), nowhere)
            }
            Purpose::Object => object_request(&self.settings, work, at, &key),
        }
    }

    /// A whole answer came.
    pub(super) fn answered(&mut self, lane: usize) {
        let connection = &self.lanes[lane].connection;
        let status = connection.answer.as_ref().map_or(0, |answer| answer.status);
        // Copies and completions answer before they are done: what became of them is in the body.
        let error = match status {
            200..=299 => match self.lanes[lane].purpose {
                Purpose::Object | Purpose::Complete => ErrorBody::within(&connection.text),
                _ => None,
            },
            _ => Some(ErrorBody::parse(&connection.text)),
        };
        match error {
            Some(error) => self.refused(lane, status, &error),
            None => self.fulfilled(lane),
        }
    }

    /// An answer that says what went wrong.
    fn refused(&mut self, lane: usize, status: u16, error: &ErrorBody) {
        let status = if (200..300).contains(&status) { 500 } else { status };
        if status == 404 && self.reads_zeros(lane) {
            self.tally.answer(status, &error.code);
            return self.finish_zeros(lane);
        }
        // Looking for an object that is not there is an answer, and no complaint.
        let throttled = self.tally.answer(status, &error.code);
        let file = self.slots[self.slot_of(lane) as usize].io.file as usize;
        if let Some(Some(bucket)) = self.buckets.get_mut(file).filter(|_| throttled) {
            bucket.throttled += 1;
        }
        let retries = if self.stops() { 0 } else { self.settings.retries };
        match throttled && self.lanes[lane].attempts < retries {
            true => self.retry(lane),
            false => self.failed(lane, errno_of(status, &error.code)),
        }
    }

    /// An answer that did what was asked, as far as its head tells.
    fn fulfilled(&mut self, lane: usize) {
        let slot = self.slot_of(lane);
        match self.lanes[lane].purpose {
            Purpose::Object => {
                let result = self.object_done(lane, slot);
                self.note_read(lane, slot, result);
                self.finish(slot, result);
            }
            Purpose::Page => self.page_done(lane, slot),
            Purpose::Create => match body::upload_id(&self.lanes[lane].connection.text) {
                Ok(id) => {
                    self.slots[slot as usize].upload = id;
                    for part in 0..self.settings.parts_at_once {
                        self.next_part(self.lane_of(slot, part), slot);
                    }
                }
                Err(_) => self.garbled(lane),
            },
            Purpose::Part(index) => self.part_done(lane, slot, index),
            Purpose::SharedPart(index) => self.finish_shared_part(lane, slot, index),
            Purpose::Complete => {
                let bytes = self.slots[slot as usize].io.bytes;
                self.finish(slot, bytes as i64);
            }
            Purpose::Abort => {
                let failed = self.slots[slot as usize].failed;
                self.finish(slot, failed);
            }
            Purpose::DeleteMany => match body::removal_errors(&self.lanes[lane].connection.text) {
                Ok(stayed) => self.removed(slot, 0, &stayed),
                Err(_) => self.garbled(lane),
            },
            Purpose::RemoveBucket => self.finish(slot, 0),
            Purpose::SweepPage => match ListPage::parse(&self.lanes[lane].connection.text) {
                Ok(page) if page.keys.is_empty() => self.finish(slot, 0),
                Ok(page) => {
                    self.slots[slot as usize].swept = page.keys.into_iter().map(|(key, _)| key).collect();
                    self.start(lane, Purpose::Sweep);
                }
                Err(_) => self.garbled(lane),
            },
            Purpose::Sweep => match body::removal_errors(&self.lanes[lane].connection.text).as_deref() {
                Ok([]) => self.start(lane, Purpose::SweepPage),
                Ok([RemovalError { code, .. }, ..]) => {
                    self.tally.answer(200, code);
                    self.failed(lane, errno_of(200, code));
                }
                Err(_) => self.garbled(lane),
            },
        }
    }

    /// Whether an object that is not there is read as zeros.
    fn reads_zeros(&self, lane: usize) -> bool {
        let reads = self.slots[self.slot_of(lane) as usize].io.verb == Verb::Read;
        self.settings.missing_is_zeros && reads && self.lanes[lane].purpose == Purpose::Object
    }

    fn finish_zeros(&mut self, lane: usize) {
        let slot = self.slot_of(lane);
        let io = self.slots[slot as usize].io;
        // SAFETY: the buffer belongs to the operation in flight, and is so long.
        unsafe { std::ptr::write_bytes(io.buffer, 0, io.bytes as usize) };
        self.finish(slot, io.bytes as i64);
    }

    /// Counts whole reads of an object for the first time and again, with how long their first byte took.
    fn note_read(&mut self, lane: usize, slot: Slot, result: i64) {
        let (work, times) = (&self.slots[slot as usize], self.lanes[lane].connection.times);
        let item = work.place.item;
        let Some(Some(bucket)) = self.buckets.get_mut(work.io.file as usize) else { return };
        let is_whole = match work.io.verb {
            Verb::Read | Verb::Open => work.io.bytes > 0 && work.range.is_none(),
            _ => false,
        };
        let Some(word) = bucket.read.get_mut((item / 64) as usize).filter(|_| is_whole && result >= 0) else {
            return;
        };
        let (bit, ns) = (1 << (item % 64), times.first_byte.saturating_sub(times.sent));
        let counts = if *word & bit == 0 { &mut self.tally.first_gets } else { &mut self.tally.again_gets };
        *counts = (counts.0 + 1, counts.1 + ns);
        *word |= bit;
    }

    /// The result of an operation that is one request.
    fn object_done(&mut self, lane: usize, slot: Slot) -> i64 {
        let (io, connection) = (&self.slots[slot as usize].io, &self.lanes[lane].connection);
        let Some(answer) = &connection.answer else { return -i64::from(libc::EPROTO) };
        let reads = io.verb == Verb::Read || (io.verb == Verb::Open && io.bytes > 0);
        if !reads {
            let writes = matches!(io.verb, Verb::Write | Verb::Create);
            return if writes { io.bytes as i64 } else { 0 };
        }
        // A part by its number is answered as one, also where it is the only one.
        let by_number = self.settings.reads_parts && io.verb == Verb::Read;
        let range = self.slots[slot as usize].range;
        let (is_part, wanted) = (range.is_some() || by_number, range.map_or(io.bytes, |(_, bytes)| bytes));
        if is_part != (answer.status == 206) {
            self.tally.note("wrong.RangeIgnored");
            return -i64::from(libc::EBADMSG);
        }
        if connection.body_bytes > wanted {
            self.tally.note("wrong.TooLong");
            return -i64::from(libc::EBADMSG);
        }
        let result = connection.body_bytes as i64;
        let checksum = self.settings.write.checksum.filter(|_| !is_part);
        let said = checksum.and_then(|checksum| {
            let said = answer.checksums.iter().find(|(name, _)| name == checksum.header());
            // Of an object in parts it may be one over the parts' checksums: `VALUE-PARTS`.
            said.filter(|(_, value)| !value.contains('-')).map(|(_, value)| (checksum, value))
        });
        let got = Buffer { start: io.buffer, bytes: connection.body_bytes as usize };
        // SAFETY: the buffer belongs to the operation, which is not handed back yet, and so many bytes of it came.
        if said.is_some_and(|(checksum, value)| checksum.of(unsafe { got.bytes() }) != *value) {
            self.tally.note("wrong.Checksum");
            return -i64::from(libc::EBADMSG);
        }
        if result < wanted as i64 {
            self.tally.note("wrong.TooShort");
        }
        result
    }

    /// A page of a list came: the next is asked for, or it ends.
    fn page_done(&mut self, lane: usize, slot: Slot) {
        let (text, work) = (&self.lanes[lane].connection.text, &mut self.slots[slot as usize]);
        let listed = match self.settings.names_versions() {
            true => VersionPage::parse(text).map(|page| {
                work.next_version = page.next;
                page.versions.len()
            }),
            false => ListPage::parse(text).map(|page| {
                work.next_page = page.next;
                page.keys.len()
            }),
        };
        let Ok(listed) = listed else { return self.garbled(lane) };
        work.listed += listed as u64;
        let enough = work.io.bytes > 0 && work.listed >= work.io.bytes;
        if enough || (work.next_page.is_none() && work.next_version.is_none()) {
            let listed = work.listed as i64;
            return self.finish(slot, listed);
        }
        self.start(lane, Purpose::Page);
    }

    /// Begins the next part of an upload on a lane, unless all are begun or one has failed.
    fn next_part(&mut self, lane: usize, slot: Slot) {
        let work = &mut self.slots[slot as usize];
        if work.begun as usize >= work.parts.len() || work.failed < 0 {
            return;
        }
        let index = work.begun;
        work.begun += 1;
        work.busy += 1;
        self.tally.parts += 1;
        self.start(lane, Purpose::Part(index));
    }

    fn part_done(&mut self, lane: usize, slot: Slot, index: u32) {
        let answer = self.lanes[lane].connection.answer.as_ref();
        let etag = answer.and_then(|answer| answer.etag.clone());
        let checksum = self.lanes[lane].part_checksum.take();
        let work = &mut self.slots[slot as usize];
        work.busy -= 1;
        match etag {
            Some(etag) => work.parts[index as usize] = Part { etag, checksum },
            None => work.failed = -i64::from(libc::EPROTO),
        }
        self.next_part(lane, slot);
        self.parts_settled(slot);
    }

    /// A part of a shared upload is put, and with it the operation is done.
    fn finish_shared_part(&mut self, lane: usize, slot: Slot, index: u32) {
        let answer = self.lanes[lane].connection.answer.as_ref();
        let Some(etag) = answer.and_then(|answer| answer.etag.clone()) else {
            return self.garbled(lane);
        };
        let bytes = self.slots[slot as usize].io.bytes;
        let part = Part { etag, checksum: self.lanes[lane].part_checksum.take() };
        self.shared_part_done(slot, index, Some(part));
        self.finish(slot, bytes as i64);
    }

    /// Where no part is on its way any more, the upload is completed or given up.
    fn parts_settled(&mut self, slot: Slot) {
        let work = &self.slots[slot as usize];
        if work.busy > 0 {
            return;
        }
        let purpose = if work.failed < 0 { Purpose::Abort } else { Purpose::Complete };
        self.start(self.lane_of(slot, 0), purpose);
    }

    /// Tries again after a while.
    fn retry(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        lane.retry_at = clock::now() + (BACKOFF_NS << lane.attempts.min(8));
        lane.attempts += 1;
        self.waiting += 1;
    }

    fn garbled(&mut self, lane: usize) {
        self.tally.note("wrong.Body");
        self.failed(lane, libc::EPROTO);
    }

    /// The request of a lane failed, and with it its operation.
    pub(super) fn failed(&mut self, lane: usize, errno: i32) {
        let (slot, result) = (self.slot_of(lane), -i64::from(errno));
        let work = &mut self.slots[slot as usize];
        match self.lanes[lane].purpose {
            Purpose::Part(_) => {
                work.failed = if work.failed == 0 { result } else { work.failed };
                work.busy -= 1;
                self.parts_settled(slot);
            }
            Purpose::Complete => {
                work.failed = result;
                self.start(lane, Purpose::Abort);
            }
            Purpose::Abort => {
                let failed = work.failed;
                self.finish(slot, failed);
            }
            Purpose::SharedPart(index) => {
                self.shared_part_done(slot, index, None);
                self.finish(slot, result);
            }
            Purpose::DeleteMany => self.removed(slot, result, &[]),
            _ => self.finish(slot, result),
        }
    }

    fn finish(&mut self, slot: Slot, result: i64) {
        self.done.push((slot, result));
    }
}

/// The part of an object of so many bytes that is read; none: all of it.
fn drawn(range: RangeLength, object: u64, random: &mut Random) -> Option<(u64, u64)> {
    let length = match range {
        RangeLength::Whole => return None,
        RangeLength::Bytes(bytes) => bytes.min(object),
        RangeLength::Random => (object as f64).powf(random.unit()) as u64,
    };
    let length = length.clamp(1, object);
    Some((random.below(object - length + 1), length))
}

/// The request of an operation on one object that takes one.
fn object_request(
    settings: &StoreSettings,
    work: &SlotWork,
    at: &BucketAddress,
    key: &str,
) -> (RequestHead, Outgoing, Buffer) {
    let (io, options) = (&work.io, &settings.write);
    let whole = Buffer { start: io.buffer, bytes: io.bytes as usize };
    let (nothing, nowhere) = (Outgoing::Nothing, Buffer::NONE);
    match io.verb {
        Verb::Write | Verb::Create => {
            let sums = settings.sums(whole);
            (operation::put(at, key, &sums, options), Outgoing::Object(whole), nowhere)
        }
        Verb::Read if settings.reads_parts => {
            let number = work.place.offset / settings.part_bytes.max(1) + 1;
            (operation::get_part(at, key, number), nothing, whole)
        }
        Verb::Read | Verb::Open if io.verb == Verb::Read || io.bytes > 0 => {
            let checks = options.checksum.is_some() && work.range.is_none();
            (operation::get(at, key, work.range, checks), nothing, whole)
        }
        Verb::Unlink | Verb::Trim => (operation::delete(at, key), nothing, nowhere),
        _ => (operation::head(at, key), nothing, nowhere),
    }
}

/// The request that removes objects, or versions of them.
fn delete_many<'a>(
    at: &BucketAddress,
    versions: impl Iterator<Item = (&'a str, &'a str)>,
) -> (RequestHead, Outgoing, Buffer) {
    let text = body::delete_versions(versions, true).into_bytes();
    (operation::delete_many(at, &text), Outgoing::Text(text), Buffer::NONE)
}

impl StoreSettings {
    /// The bytes of a part.
    fn part(&self, whole: Buffer, index: u32) -> Buffer {
        let first = (u64::from(index) * self.part_bytes) as usize;
        let bytes = (whole.bytes - first).min(self.part_bytes as usize);
        Buffer { start: whole.start.wrapping_add(first), bytes }
    }

    /// What is said beside a body.
    fn sums(&self, body: Buffer) -> BodySums {
        // SAFETY: the buffer belongs to the operation in flight.
        BodySums::of(unsafe { body.bytes() }, self.signs_payload, self.write.checksum)
    }
}
