//! TLS for the store in this process, with certificates that are made when they are wanted.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::Wire;

/// A certificate that has signed itself, and its key.
#[derive(Clone)]
pub struct Certificate {
    /// For those who are to trust it.
    pub pem: String,
    config: Arc<ServerConfig>,
}

impl Certificate {
    /// For hosts of these names or addresses.
    pub fn of(names: &[&str]) -> Certificate {
        Certificate::with(names, |_| ())
    }

    /// It has expired.
    pub fn expired(names: &[&str]) -> Certificate {
        Certificate::with(names, |params| params.not_after = rcgen::date_time_ymd(2001, 1, 1))
    }

    fn with(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Certificate {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names of hosts");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("the key as it was written");
        let config = config.expect("versions").with_no_client_auth();
        let config =
            config.with_single_cert(vec![certificate.der().clone()], private).expect("they belong together");
        Certificate { pem: certificate.pem(), config: Arc::new(config) }
    }

    pub(super) fn on(&self, stream: TcpStream) -> io::Result<Box<dyn Wire>> {
        let session = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(Box::new(TlsWire(StreamOwned::new(session, stream))))
    }
}

struct TlsWire(StreamOwned<ServerConnection, TcpStream>);

impl Read for TlsWire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for TlsWire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Wire for TlsWire {
    fn tcp(&self) -> &TcpStream {
        &self.0.sock
    }
}
