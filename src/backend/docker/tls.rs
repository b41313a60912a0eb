//! Encrypted connections to an engine: whom to trust, and who we are.

use super::address::Tls;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where systems keep the certificates that they trust.
const TRUSTED: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How a connection is encrypted. Cheap to clone.
#[derive(Clone)]
pub struct Security {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Security {
    /// For a machine, by these files.
    ///
    /// # Errors
    /// A file cannot be read or used; the text names it.
    pub fn new(host: &str, tls: &Tls) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| format!("`{host}` is no name of a machine"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = if tls.verify {
            builder.with_root_certificates(roots(tls.ca.as_deref())?)
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        };
        let config = match &tls.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let wrong = |error: Error| format!("{} cannot be used: {error}", certificate.display());
                let own = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| format!("{} holds no key: {error}", key.display()))?;
                builder.with_client_auth_cert(certificates(certificate)?, own).map_err(wrong)?
            }
        };
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// Encrypts a connection.
    ///
    /// # Errors
    /// The other end is not who it should be, or does not want us.
    pub async fn over(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let hint = |error: io::Error| io::Error::new(error.kind(), format!("TLS: {error}"));
        self.connector.connect(self.name.clone(), stream).await.map_err(hint)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|error| format!("{} holds no certificate: {error}", file.display()))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let file = match ca {
        Some(file) => file,
        None => TRUSTED.iter().map(Path::new).find(|file| file.exists()).ok_or_else(|| {
            "no file of trusted certificates is on this machine: name the engine's own (ca.pem)".to_owned()
        })?,
    };
    let mut roots = RootCertStore::empty();
    let (good, _) = roots.add_parsable_certificates(certificates(file)?);
    if good == 0 { Err(format!("{} holds no certificate that can be used", file.display())) } else { Ok(roots) }
}

/// Trusts whoever answers, where a setting says so. That it has the key of its certificate is still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
