use std::net::IpAddr;

use hickory_proto::op::Message;
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};
use proptest::prelude::{any, prop_assert, proptest};

use super::address::is_public;
use super::{Destination, Egress, Refused};

#[tokio::test]
async fn every_way_to_write_a_private_address_is_refused() {
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0/",
        "http://%31%32%37.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://１２７。０。０。１/",
        "http://127.0.0.1./",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xA9FEA9FE/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:1:2:3:4:5:6]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
    ] {
        let refused = open().admit(url).await;
        assert!(matches!(refused, Err(Refused::NotPublic)), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn what_means_two_things_is_no_url() {
    for url in [
        "",
        "example.com",
        "//example.com/",
        "http:",
        "http:example.com/",
        "http:/example.com/",
        "http:///example.com/",
        "http://",
        "http://?",
        "http:\\\\example.com/",
        "http://example.com\\.evil.test/",
        " http://example.com/",
        "http://example.com/ ",
        "http://exa mple.com/",
        "http://exam\tple.com/",
        "http://example.com/\r\nX-Injected: 1",
        "http://example.com\0.evil.test/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://example.com:99999/",
        "http://1.2.3.4.5/",
        "ht\ntp://example.com/",
    ] {
        let refused = open().admit(url).await;
        assert!(matches!(refused, Err(Refused::Malformed(_))), "{url}: {refused:?}");
    }
    for url in ["http://example.com%00.evil.test/", "http://xn--llowed-0nf.test/"] {
        assert!(matches!(open().admit(url).await, Err(Refused::Domain)), "{url}");
    }
    for url in ["javascript:alert(1)", "file:///etc/passwd", "ftp://a/", "data:text/plain,a b", "about:blank", "x:"] {
        assert!(matches!(open().admit(url).await, Err(Refused::Protocol)), "{url}");
    }
}

#[tokio::test]
async fn the_list_comes_first_and_then_the_address() {
    let egress = egress(&["127.0.0.1", "8.8.8.8"], &["127.0.0.1", "0.0.0.0"]);
    for (url, verdict) in [
        ("http://127.0.0.1:81/ok", "admitted"),
        ("http://2130706433:81/ok", "admitted"),
        ("https://8.8.8.8", "admitted"),
        ("http://127.0.0.2/", "domain"),
        ("http://9.9.9.9/", "domain"),
        ("http://evil.test?@127.0.0.1/", "domain"),
        ("http://127.0.0.1:80@evil.test/", "domain"),
        ("http://user:password@127.0.0.1/", "credentials"),
        ("http://user@127.0.0.1/", "credentials"),
        ("http://@127.0.0.1/", "admitted"),
    ] {
        assert_eq!(said(egress.admit(url).await), verdict, "{url}");
    }
    // The operator vouches for it, but it is nobody's address.
    let nobodys = Egress::new(Vec::new(), patterns(&["0.0.0.0"]), None);
    assert_eq!(said(nobodys.admit("http://0/").await), "not public");
}

#[tokio::test]
async fn a_redirect_is_judged_like_a_url() {
    let egress = egress(&["127.0.0.1"], &["127.0.0.1"]);
    let from = egress.admit("http://127.0.0.1:81/a/b?c").await.unwrap();
    for (location, verdict) in [
        ("/ok", "admitted"),
        ("d", "admitted"),
        ("?e", "admitted"),
        ("//127.0.0.1/", "admitted"),
        ("http://127.0.0.2:81/", "domain"),
        ("//evil.test/", "domain"),
        ("/\\evil.test/", "domain"),
        ("http://127.0.0.1@evil.test/", "domain"),
        ("http://user@127.0.0.1/", "credentials"),
        ("file:///etc/passwd", "protocol"),
        ("http://[bad", "malformed"),
    ] {
        assert_eq!(said(egress.admit_redirect(&from, location).await), verdict, "{location}");
    }
}

/// A name server whose first answer is public, and every other one is not.
#[tokio::test]
async fn a_name_is_asked_for_anew_each_time() {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let egress = Egress::new(Vec::new(), Vec::new(), Some(socket.local_addr().unwrap()));
    let answered = std::sync::atomic::AtomicUsize::new(0);
    let serving = async {
        let mut datagram = [0; 512];
        loop {
            let (length, from) = socket.recv_from(&mut datagram).await.unwrap();
            let question = Message::from_vec(&datagram[..length]).unwrap();
            let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
            answer.add_query(question.queries[0].clone());
            if question.queries[0].query_type() == RecordType::A {
                let first = answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
                let address = if first { A::new(93, 184, 215, 14) } else { A::new(127, 0, 0, 1) };
                let name = question.queries[0].name().clone();
                answer.insert_answers(vec![Record::from_rdata(name, 0, RData::A(address))]);
            }
            socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
        }
    };
    let asking = async {
        let first = egress.admit("http://rebind.test/").await.unwrap();
        assert_eq!(first.addresses(), ["93.184.215.14:80".parse().unwrap()]);
        for location in ["/again", "http://rebind.test/"] {
            assert_eq!(said(egress.admit_redirect(&first, location).await), "not public");
        }
        assert_eq!(said(egress.admit("http://rebind.test/").await), "not public");
    };
    tokio::select! {
        () = asking => {}
        () = serving => {}
    }
}

proptest! {
    #[test]
    fn an_address_is_admitted_only_if_it_is_public(four in any::<[u8; 4]>(), six in any::<[u16; 8]>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (address, url) in [
            (IpAddr::from(four), format!("http://{}/", std::net::Ipv4Addr::from(four))),
            (IpAddr::from(six), format!("http://[{}]/", std::net::Ipv6Addr::from(six))),
        ] {
            let admitted = runtime.block_on(open().admit(&url));
            prop_assert!(admitted.is_ok() == is_public(address), "{url}");
            if let Ok(destination) = admitted {
                prop_assert!(destination.addresses() == [(address, 80).into()]);
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "whoever asks has no other use for it")]
fn said(judged: Result<Destination, Refused>) -> &'static str {
    match judged {
        Ok(_) => "admitted",
        Err(Refused::Malformed(_)) => "malformed",
        Err(Refused::Protocol) => "protocol",
        Err(Refused::Domain) => "domain",
        Err(Refused::Credentials) => "credentials",
        Err(Refused::NotPublic) => "not public",
        Err(Refused::Unresolved(_)) => "unresolved",
    }
}

fn open() -> Egress {
    egress(&[], &[])
}

fn egress(allowed: &[&str], private: &[&str]) -> Egress {
    Egress::new(patterns(allowed), patterns(private), None)
}

fn patterns(hosts: &[&str]) -> Vec<super::HostPattern> {
    hosts.iter().map(|host| host.parse().unwrap()).collect()
}
