//! Where the endpoints of a store answer, and whom their certificates must name.

use std::net::{SocketAddr, ToSocketAddrs};

use iodyno_s3::{Addressing, Endpoint};

use super::settings::StoreSettings;
use super::tls::{TlsClient, TlsTrust};
use crate::failure::Failure;

/// Where an endpoint answers.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    /// Sessions begin with it; none: no TLS is spoken.
    pub tls: Option<TlsClient>,
}

/// Where each endpoint answers.
///
/// # Errors
/// One has no address, or its TLS cannot be had.
pub fn peers(settings: &StoreSettings, bucket: &str) -> Result<Vec<Peer>, Failure> {
    let trust = match settings.endpoints.iter().any(|endpoint| endpoint.tls) {
        true => Some(TlsTrust::new(settings.ca.as_deref())?),
        false => None,
    };
    let peer = |endpoint: &Endpoint| {
        let failed = |error: std::io::Error| {
            Failure::io(&format!("endpoint {endpoint}"), &error).hint("check the host's name")
        };
        // A store that has the bucket's name before its host's has a certificate for such names.
        let host = match settings.addressing {
            Addressing::VirtualHost if !bucket.is_empty() => format!("{bucket}.{}", endpoint.host),
            _ => endpoint.host.clone(),
        };
        let mut found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs().map_err(failed)?;
        let address =
            found.next().ok_or_else(|| Failure::new(format!("endpoint {endpoint}: it has no address")))?;
        let tls = trust.as_ref().filter(|_| endpoint.tls).map(|trust| trust.with(&host)).transpose()?;
        Ok(Peer { address, tls })
    };
    settings.endpoints.iter().map(peer).collect()
}
