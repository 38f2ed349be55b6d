//! What runs left in a bucket when they were killed: found below the prefix that they were given, and removed.
//!
//! Nothing beyond that prefix is listed, and nothing that does not begin as it was asked for is named or removed.

use iodyno_engine::Failure;
use iodyno_engine::store_client::StoreClient;
use iodyno_model::Job;
use iodyno_s3::body::{ListPage, delete_many, uploads};
use iodyno_s3::{RequestHead, operation};

use super::client::{Client, ClientSettings};

/// Keys of a page, at most.
const PAGE_KEYS: u64 = 1000;

/// What one look into a bucket tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketLook {
    /// Names right below the prefix that begin as was asked, sorted.
    pub names: Vec<String>,
    /// What is deleted stays stored as a version.
    pub keeps_versions: bool,
}

/// Looks for prefixes right below an address whose names begin so; uploads that were not ended have one too.
///
/// # Errors
/// The store cannot be asked, or does not want to answer.
pub fn look(job: &Job, url: &str, start: &str) -> Result<BucketLook, Failure> {
    let settings = ClientSettings::below(job, url, "")?;
    if let Some(store) = settings.plain_store() {
        let names = store?.children(&settings.prefix, start).map_err(|errno| Failure::call(url, errno))?;
        return Ok(BucketLook { names, keeps_versions: false });
    }
    let mut client = Client::new(&settings)?;
    let from = format!("{}{start}", settings.prefix);
    let mut look = BucketLook::default();
    let mut add = |key: &str| {
        let name = key.strip_prefix(&settings.prefix).and_then(|rest| rest.split('/').next());
        look.names.extend(name.filter(|name| name.starts_with(start)).map(String::from));
    };
    let mut after = None;
    loop {
        let at = client.at.clone();
        let request = operation::list(&at, &from, PAGE_KEYS, after.as_deref()).with("delimiter", "/");
        let page = ListPage::parse(&ask(&mut client, &request, &[])?).map_err(Failure::new)?;
        page.prefixes.iter().for_each(|key| add(key));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let at = client.at.clone();
    // A store without uploads in parts has none left.
    let open = ask(&mut client, &operation::list_uploads(&at, &from), &[]).unwrap_or_default();
    uploads(&open).unwrap_or_default().iter().for_each(|(key, _)| add(key));
    let versioning = ask(&mut client, &operation::versioning(&at), &[]).unwrap_or_default();
    look.keeps_versions = versioning.windows(15).any(|part| part == b"<Status>Enabled");
    look.names.sort();
    look.names.dedup();
    Ok(look)
}

/// Removes everything below an address, which must have a prefix; how many objects that were.
///
/// # Errors
/// What is left, and why.
pub fn remove(job: &Job, url: &str) -> Result<u64, Failure> {
    let settings = ClientSettings::below(job, url, "")?;
    if settings.prefix.is_empty() {
        return Err(Failure::new(format!("{url}: a whole bucket is not removed")));
    }
    if let Some(store) = settings.plain_store() {
        return remove_plain(&mut *store?, &settings.prefix).map_err(|errno| Failure::call(url, errno));
    }
    let mut client = Client::new(&settings)?;
    let at = client.at.clone();
    let is_ours = |key: &str| key.starts_with(&settings.prefix);
    let open = ask(&mut client, &operation::list_uploads(&at, &settings.prefix), &[]).unwrap_or_default();
    for (key, id) in uploads(&open).unwrap_or_default().into_iter().filter(|(key, _)| is_ours(key)) {
        let _ = client.ask_patiently(&operation::abort_upload(&at, &key, &id), &[]);
    }
    let (mut removed, mut after) = (0, None);
    loop {
        let request = operation::list(&at, &settings.prefix, PAGE_KEYS, after.as_deref());
        let page = ListPage::parse(&ask(&mut client, &request, &[])?).map_err(Failure::new)?;
        let keys: Vec<&str> =
            page.keys.iter().map(|(key, _)| key.as_str()).filter(|key| is_ours(key)).collect();
        if !keys.is_empty() {
            remove_keys(&mut client, &keys)?;
            removed += keys.len() as u64;
        }
        after = page.next;
        if after.is_none() {
            return Ok(removed);
        }
    }
}

/// Objects first, then the directories that they lay in, where the store has any.
fn remove_plain(store: &mut dyn StoreClient, prefix: &str) -> Result<u64, i32> {
    let mut removed = 0;
    for name in store.objects(prefix)? {
        match store.remove(&name) {
            Ok(()) => removed += 1,
            Err(libc::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    store.remove_directories(prefix)?;
    Ok(removed)
}

/// By one request, or one for each key where the store does not know that.
fn remove_keys(client: &mut Client<'_>, keys: &[&str]) -> Result<(), Failure> {
    let at = client.at.clone();
    let text = delete_many(keys.iter().copied(), true).into_bytes();
    if ask(client, &operation::delete_many(&at, &text), &text).is_ok() {
        return Ok(());
    }
    keys.iter().try_for_each(|key| ask(client, &operation::delete(&at, key), &[]).map(drop))
}

fn ask(client: &mut Client<'_>, request: &RequestHead, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let answer = client.ask_patiently(request, body).map_err(Failure::new)?;
    match answer.is_success() {
        true => Ok(answer.body),
        false => Err(Failure::new(format!("the store answers {}", answer.errors().join(", ")))),
    }
}
