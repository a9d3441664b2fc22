use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{RData, Record, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};

use super::{LookupFailed, addresses};

#[tokio::test]
async fn both_families_are_asked_for_and_aliases_followed() {
    let found = asked(|question| {
        let name = question.queries[0].name().clone();
        let alias = Record::from_rdata(name.clone(), 0, RData::CNAME(CNAME("b.test.".parse().unwrap())));
        let data = if question.queries[0].query_type() == RecordType::A {
            RData::A(A::new(10, 0, 0, 5))
        } else {
            RData::AAAA(AAAA::new(0, 0, 0, 0, 0, 0, 0, 1))
        };
        vec![answer(question, vec![alias, Record::from_rdata("b.test.".parse().unwrap(), 0, data)])]
    })
    .await;
    assert_eq!(found.unwrap(), ["10.0.0.5".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]);
}

#[tokio::test]
async fn what_is_not_an_answer_is_passed_over() {
    let found = asked(|question| {
        let right = public(question);
        let (mut other_number, mut other_name, mut no_answer) = (right.clone(), right.clone(), right.clone());
        other_number.metadata.id = right.metadata.id.wrapping_add(1);
        other_name.queries[0].set_name("evil.test.".parse().unwrap());
        no_answer.metadata = question.metadata;
        vec![other_number, other_name, no_answer, right]
    })
    .await;
    assert_eq!(found.unwrap(), vec![IpAddr::from([93, 184, 215, 14]); 2]);
}

#[tokio::test]
async fn what_is_no_name_and_what_went_wrong_is_said() {
    let failed = |code: ResponseCode| {
        asked(move |question| {
            let mut answer = answer(question, Vec::new());
            answer.metadata.response_code = code;
            vec![answer]
        })
    };
    assert!(matches!(failed(ResponseCode::NXDomain).await, Err(LookupFailed::NoSuchName)));
    assert!(matches!(failed(ResponseCode::ServFail).await, Err(LookupFailed::Refused)));
    assert!(failed(ResponseCode::NoError).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn silence_is_not_waited_for_for_ever() {
    assert!(matches!(asked(|_| Vec::new()).await, Err(LookupFailed::NoAnswer)));
}

#[tokio::test]
async fn what_does_not_fit_comes_over_tcp() {
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = udp.local_addr().unwrap();
    let tcp = TcpListener::bind(server).await.unwrap();
    let serving = async {
        let mut datagram = [0; 512];
        loop {
            let (length, from) = udp.recv_from(&mut datagram).await.unwrap();
            let mut short = answer(&Message::from_vec(&datagram[..length]).unwrap(), Vec::new());
            short.metadata.truncation = true;
            udp.send_to(&short.to_vec().unwrap(), from).await.unwrap();
            let (mut stream, _) = tcp.accept().await.unwrap();
            let mut question = vec![0; usize::from(stream.read_u16().await.unwrap())];
            stream.read_exact(&mut question).await.unwrap();
            let whole = public(&Message::from_vec(&question).unwrap()).to_vec().unwrap();
            stream.write_u16(u16::try_from(whole.len()).unwrap()).await.unwrap();
            stream.write_all(&whole).await.unwrap();
        }
    };
    tokio::select! {
        found = addresses(server, "long.test") => assert_eq!(found.unwrap().len(), 2),
        () = serving => {}
    }
}

/// What comes of asking a server that answers like this.
async fn asked(reply: impl Fn(&Message) -> Vec<Message>) -> Result<Vec<IpAddr>, LookupFailed> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server: SocketAddr = socket.local_addr().unwrap();
    let serving = async {
        let mut datagram = [0; 512];
        loop {
            let (length, from) = socket.recv_from(&mut datagram).await.unwrap();
            for answer in reply(&Message::from_vec(&datagram[..length]).unwrap()) {
                socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
            }
        }
    };
    tokio::select! {
        found = addresses(server, "a.test") => found,
        () = serving => unreachable!("it serves for ever"),
    }
}

fn public(question: &Message) -> Message {
    let name = question.queries[0].name().clone();
    answer(question, vec![Record::from_rdata(name, 0, RData::A(A::new(93, 184, 215, 14)))])
}

fn answer(question: &Message, records: Vec<Record>) -> Message {
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.add_query(question.queries[0].clone());
    answer.insert_answers(records);
    answer
}
