//! Mode, owner, times and extended attributes.

use super::access::{Caller, READ, WRITE};
use super::acl;
use super::fault::Fault;
use super::node::{SGID, Stamp, now};
use super::tree::{Tree, Try};
use std::ffi::{OsStr, OsString};

#[derive(Debug, Clone, Copy)]
pub enum TimeToSet {
    /// The present.
    Now,
    At(Stamp),
}

/// What a request wants changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish {
    /// Permission bits and the three above.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<TimeToSet>,
    /// Last modification.
    pub modified: Option<TimeToSet>,
    /// It goes through an open file, which was asked for permission when it was opened.
    pub opened: bool,
}

impl Tree {
    /// Changes what is to be changed.
    pub fn change(&mut self, caller: &Caller, number: u64, wish: &Wish) -> Try<()> {
        let to_now = matches!((wish.accessed, wish.modified), (Some(TimeToSet::Now), Some(TimeToSet::Now)));
        if !to_now || self.is_immutable(number) {
            self.is_free(number)?;
        }
        if let Some(size) = wish.size {
            return self.truncate(caller, number, size, wish);
        }
        if let Some(mode) = wish.mode {
            self.chmod(caller, number, mode)?;
        }
        if wish.accessed.is_some() || wish.modified.is_some() {
            return self.set_times(caller, number, wish);
        }
        if wish.mode.is_none() || wish.uid.is_some() || wish.gid.is_some() {
            self.chown(caller, number, wish.uid, wish.gid)?;
        }
        Ok(())
    }

    fn truncate(&mut self, caller: &Caller, number: u64, size: u64, wish: &Wish) -> Try<()> {
        if !wish.opened {
            self.may_truncate(caller, number)?;
        }
        self.resize(number, size)?;
        self.node_mut(number)?.drop_capabilities();
        if !self.breaks(Fault::TruncateKeepsModified) {
            self.stamp(number);
        }
        if !caller.is_root() && !self.breaks(Fault::TruncateKeepsPrivileges) {
            self.node_mut(number)?.drop_privileges();
        }
        Ok(())
    }

    fn chmod(&mut self, caller: &Caller, number: u64, mode: u32) -> Try<()> {
        let mut mode = self.may_chmod(caller, number, mode & 0o7777)?;
        if self.breaks(Fault::ChmodDropsSpecial) && self.node(number)?.is_directory() {
            mode &= 0o777;
        }
        if self.breaks(Fault::ChmodIgnored) && self.node(number)?.is_directory() {
            return Ok(());
        }
        let follows = !self.breaks(Fault::ChmodKeepsAcl);
        let node = self.node_mut(number)?;
        node.mode = mode;
        if follows {
            acl::after_chmod(node);
        }
        if !self.breaks(Fault::ChmodKeepsChanged) {
            self.mark(number);
        }
        Ok(())
    }

    fn chown(&mut self, caller: &Caller, number: u64, uid: Option<u32>, gid: Option<u32>) -> Try<()> {
        self.may_chown(caller, number, uid, gid)?;
        let gid = gid.filter(|_| uid.is_none() || !self.breaks(Fault::ChownLosesGroup));
        let strips = (uid.is_some() || gid.is_some()) && !self.breaks(Fault::ChownKeepsPrivileges);
        let node = self.node_mut(number)?;
        node.uid = uid.unwrap_or(node.uid);
        node.gid = gid.unwrap_or(node.gid);
        if strips {
            node.drop_capabilities();
            node.drop_privileges();
        }
        if !self.breaks(Fault::ChownKeepsChanged) {
            self.mark(number);
        }
        Ok(())
    }

    fn set_times(&mut self, caller: &Caller, number: u64, wish: &Wish) -> Try<()> {
        let present = |moment: Option<TimeToSet>| matches!(moment, Some(TimeToSet::Now));
        let all_present = present(wish.accessed) && present(wish.modified);
        self.may_stamp(caller, number, all_present)?;
        let omitted = self.breaks(Fault::OmitIgnored).then_some(TimeToSet::Now);
        let present = now();
        let mut accessed = wish.accessed.or(omitted).map(|moment| self.kept(moment, present));
        let mut modified = wish.modified.or(omitted).map(|moment| self.kept(moment, present));
        if self.breaks(Fault::TimesSwapped) {
            std::mem::swap(&mut accessed, &mut modified);
        }
        let node = self.node_mut(number)?;
        node.accessed = accessed.unwrap_or(node.accessed);
        node.modified = modified.unwrap_or(node.modified);
        if !self.breaks(Fault::UtimensKeepsChanged) {
            self.mark(number);
        }
        Ok(())
    }

    /// A time as it is kept.
    fn kept(&self, moment: TimeToSet, present: Stamp) -> Stamp {
        let TimeToSet::At((seconds, nanoseconds)) = moment else { return present };
        match self.fault {
            Some(Fault::NanosecondsCut) => (seconds, nanoseconds / 1000 * 1000),
            Some(Fault::TimesBefore1970) if seconds < 0 => (0, 0),
            Some(Fault::TimesAfter2038) => (i64::from(seconds as i32), nanoseconds),
            _ => (seconds, nanoseconds),
        }
    }

    fn may_attribute(&self, caller: &Caller, number: u64, name: &OsStr, wanted: u32) -> Try<()> {
        let name = name.as_encoded_bytes();
        let acl = [acl::ACCESS, acl::DEFAULT].iter().any(|known| known.as_bytes() == name);
        let known = [&b"user."[..], b"trusted.", b"security."].iter().any(|space| name.starts_with(space));
        if !known && (self.judges || !acl) {
            return Err(libc::EOPNOTSUPP);
        }
        if name.starts_with(b"user.") { self.may(caller, number, wanted) } else { Ok(()) }
    }

    /// Sets an extended attribute, with setxattr's flags.
    pub fn set_attribute(
        &mut self,
        caller: &Caller,
        number: u64,
        name: &OsStr,
        value: &[u8],
        flags: i32,
    ) -> Try<()> {
        self.may_attribute(caller, number, name, WRITE)?;
        self.is_free(number)?;
        let there = self.node(number)?.attributes.contains_key(name);
        if there && flags & libc::XATTR_CREATE != 0 && !self.breaks(Fault::AttributeCreateReplaces) {
            return Err(libc::EEXIST);
        }
        if !there && flags & libc::XATTR_REPLACE != 0 && !self.breaks(Fault::AttributeReplaceCreates) {
            return Err(libc::ENODATA);
        }
        if name == acl::ACCESS {
            return self.set_acl(caller, number, value);
        }
        let cut = if self.breaks(Fault::AttributeValueCut) { 64 } else { value.len() };
        let value = value[..value.len().min(cut)].to_vec();
        self.node_mut(number)?.attributes.insert(name.to_owned(), value);
        self.attributes_changed(number);
        Ok(())
    }

    fn attributes_changed(&mut self, number: u64) {
        if !self.breaks(Fault::AttributeKeepsChanged) {
            self.mark(number);
        }
    }

    fn set_acl(&mut self, caller: &Caller, number: u64, value: &[u8]) -> Try<()> {
        let stranger = !caller.is_root() && !self.member(caller, self.node(number)?.gid);
        let (bits, plain) = acl::meaning(value).ok_or(libc::EINVAL)?;
        let follows = !self.breaks(Fault::AclKeepsMode);
        let node = self.node_mut(number)?;
        if follows {
            node.mode = node.mode & !0o777 | bits;
        }
        if stranger {
            node.mode &= !SGID;
        }
        match plain {
            true => drop(node.attributes.remove(OsStr::new(acl::ACCESS))),
            false => drop(node.attributes.insert(acl::ACCESS.into(), value.to_vec())),
        }
        self.mark(number);
        Ok(())
    }

    /// The value of an extended attribute, for a buffer of this size; 0: nobody has a buffer yet.
    pub fn attribute(&self, caller: &Caller, number: u64, name: &OsStr, size: u32) -> Try<Vec<u8>> {
        self.may_attribute(caller, number, name, READ)?;
        let value = self.node(number)?.attributes.get(name).ok_or(libc::ENODATA)?;
        if size == 0 || value.len() <= size as usize {
            return Ok(value.clone());
        }
        match self.breaks(Fault::AttributeRangeIgnored) {
            true => Ok(value[..size as usize].to_vec()),
            false => Err(libc::ERANGE),
        }
    }

    /// The names of all extended attributes, each with a zero behind it.
    pub fn attribute_names(&self, caller: &Caller, number: u64, size: u32) -> Try<Vec<u8>> {
        let visible =
            |name: &&OsString| caller.is_root() || !name.as_encoded_bytes().starts_with(b"trusted.");
        let names: Vec<_> = self.node(number)?.attributes.keys().filter(visible).collect();
        let hidden = usize::from(self.breaks(Fault::AttributeListShort));
        let mut list = Vec::new();
        for name in names.iter().take(names.len().saturating_sub(hidden)) {
            list.extend(name.as_encoded_bytes());
            list.push(0);
        }
        if size != 0 && list.len() > size as usize { Err(libc::ERANGE) } else { Ok(list) }
    }

    /// Removes an extended attribute.
    pub fn remove_attribute(&mut self, caller: &Caller, number: u64, name: &OsStr) -> Try<()> {
        self.may_attribute(caller, number, name, WRITE)?;
        self.is_free(number)?;
        let removed = self.node_mut(number)?.attributes.remove(name).is_some();
        if removed {
            self.attributes_changed(number);
        }
        if removed || self.breaks(Fault::AttributeRemoveSilent) { Ok(()) } else { Err(libc::ENODATA) }
    }
}
