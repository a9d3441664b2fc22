//! `web-fetch` over HTTPS: whose certificate counts, and for which name.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::origin::Origin;

const SERVER: &str = r"
import http.server, ssl, sys
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Length', '6')
        self.end_headers()
        self.wfile.write(b'OK_tls')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";

#[test]
fn a_certificate_counts_from_whom_the_machine_trusts_and_for_its_name() {
    let origin = Origin::start();
    let resolver = format!("127.0.0.1:{}", origin.dns_port);
    let hosts = ["allowed.test", "sub.wild.test"];
    let env = TestEnv::with_config(
        &json!({"web_fetch": {"resolver": resolver, "allow_private_hosts": hosts, "timeout": "5s"}}).to_string(),
    );
    let page = Page::serve(&env, "allowed.test");
    let serve = |trusted: &str| {
        let mut command = env.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("SSL_CERT_FILE", env.path(trusted));
        Server::start(command)
    };
    let (knowing, ignorant) = (serve("ca.pem"), serve("other.pem"));
    for _ in 0..2 {
        let answer = page.fetch(&knowing, "allowed.test");
        assert_eq!((&answer["content"], &answer["status"]), (&json!("OK_tls"), &json!(200)), "{answer}");
    }
    for (server, host) in [(&knowing, "sub.wild.test"), (&ignorant, "allowed.test")] {
        let answer = page.fetch(server, host);
        assert_eq!(answer["code"], "NETWORK_ERROR", "{host}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains("certificate"), "{answer}");
    }
}

/// One page over TLS. Its server is killed when dropped.
struct Page {
    child: Child,
    port: u16,
}

impl Page {
    /// With a certificate for this name, from `ca.pem`; `other.pem` is somebody else's.
    fn serve(env: &TestEnv, name: &str) -> Self {
        let (authority, issuer) = authority();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        env.write("ca.pem", &authority);
        env.write("other.pem", &self::authority().0);
        env.write("server.pem", &certificate.pem());
        env.write("key.pem", &key.serialize_pem());
        let mut command = Command::new("python3");
        command.args(["-c", SERVER]).arg(env.path("server.pem")).arg(env.path("key.pem"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().parse().unwrap() }
    }

    fn fetch(&self, server: &Server, host: &str) -> Value {
        let body = json!({"url": format!("https://{host}:{}/", self.port)}).to_string();
        server.post("/mcp/tool/web-fetch", &body).json()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Its certificate, and what it signs with.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let (mut params, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), Issuer::new(params, key))
}
