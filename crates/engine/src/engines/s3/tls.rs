//! TLS to a store. Certificates are those of the system, or of a file; the server's name is checked.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};
use socket2::Socket;

use crate::failure::Failure;

/// What sessions to one endpoint begin with.
#[derive(Clone, Debug)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// What all sessions have in common: whom to trust, and what was agreed on with whom before.
#[derive(Clone, Debug)]
pub struct TlsTrust(Arc<ClientConfig>);

impl TlsTrust {
    /// Trusts the certificates of a file (PEM), or the system's.
    ///
    /// # Errors
    /// The file cannot be read or has none; the system has none.
    pub fn new(file: Option<&str>) -> Result<TlsTrust, Failure> {
        let mut roots = RootCertStore::empty();
        match file {
            Some(path) => {
                let wrong = |why: String| {
                    Failure::new(format!("ca: {path}: {why}"))
                        .hint("a file of certificates: -----BEGIN CERTIFICATE----- …")
                };
                let text = std::fs::read(path).map_err(|error| wrong(iodyno_model::origin::plain(&error)))?;
                for certificate in CertificateDer::pem_slice_iter(&text) {
                    let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                    roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
                }
                if roots.is_empty() {
                    return Err(wrong("it has no certificate".into()));
                }
            }
            None => {
                // Some of the system's may be beyond us.
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(Failure::new("this system has no certificates that it trusts")
                        .hint("install them (Debian: ca-certificates), or ca = \"FILE\""));
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::new(format!("TLS: {error}")))?;
        Ok(TlsTrust(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }

    /// For sessions with a host.
    ///
    /// # Errors
    /// It is no name that a certificate could have.
    pub fn with(&self, host: &str) -> Result<TlsClient, Failure> {
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| Failure::new(format!("endpoint: `{host}` is no name of a server")))?;
        Ok(TlsClient { config: Arc::clone(&self.0), name })
    }
}

impl TlsClient {
    pub(super) fn on(&self, socket: Socket) -> io::Result<TlsStream> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Ok(TlsStream { socket, session: session.map_err(io::Error::other)? })
    }

    /// TLS on a socket that blocks.
    ///
    /// # Errors
    /// There can be no session.
    pub fn on_blocking(&self, stream: TcpStream) -> io::Result<impl Read + Write + Send + use<>> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        Ok(StreamOwned::new(session.map_err(io::Error::other)?, stream))
    }
}

/// A session on a socket that never blocks.
#[derive(Debug)]
pub struct TlsStream {
    socket: Socket,
    session: ClientConnection,
}

impl TlsStream {
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(super) fn shake_hands(&mut self) -> io::Result<()> {
        while self.session.is_handshaking() {
            self.flush()?;
            if self.session.is_handshaking() && self.take()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        // Its last words go out before the first request.
        self.flush()
    }

    /// Whether it goes on with keys of a session before.
    pub(super) fn is_resumed(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Takes what the socket has; 0: the other side has ended.
    fn take(&mut self) -> io::Result<usize> {
        let bytes = self.session.read_tls(&mut &self.socket)?;
        if let Err(error) = self.session.process_new_packets() {
            // Tells the other side why.
            let _ = self.flush();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(bytes)
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end without its word: whoever counts bytes sees whether it was one.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            self.take()?;
        }
    }

    pub(super) fn write(&mut self, head: &[u8], body: &[u8]) -> io::Result<usize> {
        // What is encrypted and not sent has a limit, beyond which nothing is taken.
        self.flush()?;
        let mut writer = self.session.writer();
        let mut bytes = writer.write(head)?;
        if bytes == head.len() && !body.is_empty() {
            bytes += writer.write(body)?;
        }
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(bytes),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut &self.socket)?;
        }
        Ok(())
    }
}

/// What is wrong with a session, and what to do, in words.
pub(super) fn explain(error: &io::Error) -> Option<(String, &'static str)> {
    use rustls::{CertificateError, Error, InvalidMessage};
    let inner = error.get_ref()?.downcast_ref::<Error>()?;
    let (what, hint) = match inner {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            ("the port speaks no TLS".into(), "say http:// for this port, or name the store's https port")
        }
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => (
            "nobody who is trusted has signed the certificate".into(),
            "ca = \"FILE\" trusts the certificates of a file (PEM)",
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => ("the certificate is of another host".into(), "name the host as its certificate does"),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            ("the certificate has expired".into(), "renew it, and check this machine's clock")
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => ("the certificate is not yet valid".into(), "check this machine's clock"),
        Error::InvalidCertificate(why) => {
            (format!("the certificate is not accepted: {why}"), "see the store's certificate")
        }
        other => (format!("no TLS session: {other}"), "see what the store's TLS allows"),
    };
    Some((what, hint))
}
