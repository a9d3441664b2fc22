//! Asking one name server, over UDP and, for what does not fit, over TCP (RFC 1035). Messages are read and written by
//! hickory; nothing is kept, so that an answer is never older than the question.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::resolver::LookupFailed;

/// Packets get lost; three tries and we know.
const TRIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(2);

/// Without extensions no answer over UDP is longer than 512 bytes; some servers send more all the same.
const DATAGRAM_MAX: usize = 4096;

/// Of both families. One that failed does not spoil the other: what is used is looked at in any case.
pub(super) async fn addresses(server: SocketAddr, name: &str) -> Result<Vec<IpAddr>, LookupFailed> {
    let mut absolute = Name::from_ascii(name).map_err(|_| LookupFailed::NoSuchName)?;
    absolute.set_fqdn(true);
    let (short, long) = tokio::join!(
        ask(server, Query::query(absolute.clone(), RecordType::A)),
        ask(server, Query::query(absolute.clone(), RecordType::AAAA)),
    );
    match (short, long) {
        (Ok(mut found), Ok(more)) => {
            found.extend(more);
            Ok(found)
        }
        (Ok(found), Err(error)) | (Err(error), Ok(found)) => {
            if found.is_empty() {
                Err(error)
            } else {
                Ok(found)
            }
        }
        (Err(error), Err(_)) => Err(error),
    }
}

async fn ask(server: SocketAddr, query: Query) -> Result<Vec<IpAddr>, LookupFailed> {
    for _ in 0..TRIES {
        // A new port and a new number each time: an answer to an earlier try, or from somebody who guesses, is none.
        match timeout(PATIENCE, over_udp(server, &query)).await {
            Ok(Ok(answer)) if answer.metadata.truncation => {
                return match timeout(PATIENCE, over_tcp(server, &query)).await {
                    Ok(answer) => found(answer.map_err(LookupFailed::Impossible)?),
                    Err(_) => Err(LookupFailed::NoAnswer),
                };
            }
            Ok(Ok(answer)) => return found(answer),
            // Nobody listens there: the system tells us at once, and trying again is no use.
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => return Err(LookupFailed::NoAnswer),
            Ok(Err(error)) => return Err(LookupFailed::Impossible(error)),
            Err(_) => {}
        }
    }
    Err(LookupFailed::NoAnswer)
}

async fn over_udp(server: SocketAddr, query: &Query) -> io::Result<Message> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    // From then on packets from elsewhere do not arrive.
    socket.connect(server).await?;
    let question = question(query);
    socket.send(&question.to_vec().map_err(io::Error::other)?).await?;
    let mut datagram = vec![0; DATAGRAM_MAX];
    loop {
        let length = socket.recv(&mut datagram).await?;
        let answer = datagram.get(..length).and_then(|bytes| Message::from_vec(bytes).ok());
        if let Some(answer) = answer.filter(|answer| answers(answer, &question)) {
            return Ok(answer);
        }
    }
}

async fn over_tcp(server: SocketAddr, query: &Query) -> io::Result<Message> {
    let mut stream = TcpStream::connect(server).await?;
    let question = question(query);
    let bytes = question.to_vec().map_err(io::Error::other)?;
    let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), bytes.as_slice()].concat()).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    let answer = Message::from_vec(&answer).map_err(io::Error::other)?;
    if answers(&answer, &question) { Ok(answer) } else { Err(io::Error::other("another question's answer")) }
}

fn question(query: &Query) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(query.clone());
    message
}

fn answers(answer: &Message, question: &Message) -> bool {
    answer.metadata.id == question.metadata.id
        && answer.metadata.message_type == MessageType::Response
        && answer.queries == question.queries
}

/// Every address in the answer, whichever alias led to it.
fn found(answer: Message) -> Result<Vec<IpAddr>, LookupFailed> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "there are two codes that say something about the name")]
    match answer.metadata.response_code {
        ResponseCode::NoError => {}
        ResponseCode::NXDomain => return Err(LookupFailed::NoSuchName),
        _ => return Err(LookupFailed::Refused),
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "there are two kinds of address among the kinds of record")]
    let address = |record: hickory_proto::rr::Record| match record.data {
        RData::A(address) => Some(IpAddr::V4(address.0)),
        RData::AAAA(address) => Some(IpAddr::V6(address.0)),
        _ => None,
    };
    Ok(answer.answers.into_iter().filter_map(address).collect())
}

#[cfg(test)]
mod tests;
