//! Error numbers and their names: all of Linux, of other systems what they share with it.
//!
//! Names are what rules, suites and reports compare; numbers are what the kernel says. It refuses to describe an error in
//! words: the C library does that.

/// Names with their numbers; of several names for one number the first is said, and all are understood.
macro_rules! numbers {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// What every system has.
const EVERYWHERE: &[(&str, i32)] = numbers! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV
    ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK
    ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENOMSG EIDRM EPROTO EOVERFLOW EILSEQ EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE
    EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL
    ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT
    ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EREMOTE EDQUOT ECANCELED EBADMSG EMULTIHOP ENOLINK
    EOWNERDEAD ENOTRECOVERABLE EWOULDBLOCK ENOTSUP
};

/// What Linux has besides.
#[cfg(target_os = "linux")]
const HERE: &[(&str, i32)] = numbers! {
    ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT EBFONT ENOSTR
    ENODATA ETIME ENOSR ENONET ENOPKG EADV ESRMNT ECOMM EDOTDOT ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX
    ELIBEXEC ERESTART ESTRPIPE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO ENOMEDIUM EMEDIUMTYPE ENOKEY EKEYEXPIRED
    EKEYREVOKED EKEYREJECTED ERFKILL EHWPOISON EDEADLOCK
};

/// What BSD has besides.
#[cfg(target_os = "freebsd")]
const HERE: &[(&str, i32)] = numbers! {
    EFTYPE EAUTH ENEEDAUTH EBADRPC ERPCMISMATCH EPROGUNAVAIL EPROGMISMATCH EPROCUNAVAIL EDOOFUS ENOATTR ENOTCAPABLE
    ECAPMODE EPROCLIM
};

/// What this system has besides.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
const HERE: &[(&str, i32)] = &[];

/// What a touched mapping can end with: a signal, which travels as its negative number.
const SIGNALS: &[(&str, i32)] = &[("SIGBUS", -libc::SIGBUS), ("SIGSEGV", -libc::SIGSEGV)];

fn all() -> impl Iterator<Item = &'static (&'static str, i32)> {
    EVERYWHERE.iter().chain(HERE).chain(SIGNALS)
}

/// The symbolic name of an error number, decimal if it has none. What is negative is a signal.
pub fn errno_name(number: i32) -> String {
    match all().find(|(_, known)| *known == number) {
        Some((name, _)) => (*name).into(),
        None => number.to_string(),
    }
}

/// The error number of a name, or of a decimal number; none: there is no such error here.
pub fn errno_number(name: &str) -> Option<i32> {
    match all().find(|(known, _)| *known == name) {
        Some((_, number)) => Some(*number),
        None => name.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_a_number_and_back() {
        for (name, number) in all() {
            assert_eq!(errno_number(name), Some(*number));
            assert_eq!(errno_number(&errno_name(*number)), Some(*number));
        }
        assert_eq!(errno_name(libc::EACCES), "EACCES");
        assert_eq!(errno_name(libc::EOPNOTSUPP), "EOPNOTSUPP");
        assert_eq!(errno_number("ENOTSUP"), Some(libc::ENOTSUP));
        assert_eq!(errno_name(4095), "4095");
        assert_eq!(errno_number("4095"), Some(4095));
        assert_eq!(errno_number("EWHAT"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn none_of_linux_is_missing() {
        // 41 and 58 are the two numbers that were never given away.
        let missing: Vec<i32> =
            (1..=133).filter(|number| errno_name(*number) == number.to_string()).collect();
        assert_eq!(missing, [41, 58]);
    }
}
