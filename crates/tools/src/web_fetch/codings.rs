//! Content codings undone piece by piece (RFC 9110 §8.4), with the limit on what comes out: a small body that unfolds to a
//! large one costs no more than the limit.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::{Decompress, FlushDecompress, Status};
use http::header::{CONTENT_ENCODING, HeaderMap};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

/// What we can undo, for the request.
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Nobody has a reason to use two.
const CODINGS_MAX: usize = 2;

/// The window that decoders of the web must support (RFC 8878 §3.1.1.1.2); larger ones would cost their size in memory.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Of gzip and zlib; all that there is.
const DEFLATE_WINDOW_LOG: u8 = 15;

/// Decoded at a time.
const STEP: usize = 8 * 1024;

/// A body as it comes in.
pub(super) struct Content {
    /// The last one that was applied first, and how much may still come out of each.
    codings: Vec<(Coding, usize)>,
    decoded: Room,
    /// Bytes that may still come in.
    encoded_left: usize,
    begun: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    TooLarge,
    /// A coding that we did not ask for.
    UnknownCoding,
    /// It breaks the rules of its coding, or ends in the middle.
    Malformed,
}

enum Coding {
    /// Not known before its first byte whether it has the header of zlib, which some servers leave out.
    Deflate,
    Inflate {
        state: Decompress,
        at_end: bool,
    },
    Brotli(Box<DecompressorWriter<Room>>),
    Zstd {
        state: Decoder<'static>,
        at_end: bool,
    },
}

/// A buffer that takes so much and no more.
#[derive(Default)]
struct Room {
    bytes: Vec<u8>,
    left: usize,
}

impl Content {
    pub(super) fn new(headers: &HeaderMap, expected: usize, limit: usize) -> Result<Self, Unreadable> {
        let mut codings = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            let names = value.to_str().map_err(|_| Unreadable::UnknownCoding)?.split(',').map(str::trim);
            for name in names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity")) {
                // Before it is made: a header has room for thousands.
                if codings.len() == CODINGS_MAX {
                    return Err(Unreadable::UnknownCoding);
                }
                codings.insert(0, (Coding::new(name, limit)?, limit));
            }
        }
        // What cannot be made smaller gets a little larger; an encoded body that is twice the limit is not about its content.
        let encoded_left = if codings.is_empty() { limit } else { 2 * limit };
        let capacity = if codings.is_empty() { expected.min(limit) } else { 0 };
        let decoded = Room { bytes: Vec::with_capacity(capacity), left: limit };
        Ok(Self { codings, decoded, encoded_left, begun: false })
    }

    /// Whether a body of this length on the way could be served.
    pub(super) fn has_room_for(&self, length: usize) -> bool {
        length <= self.encoded_left
    }

    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), Unreadable> {
        self.encoded_left = self.encoded_left.checked_sub(piece.len()).ok_or(Unreadable::TooLarge)?;
        self.begun |= !piece.is_empty();
        let mut between = None;
        for (coding, left) in &mut self.codings {
            let mut out = Room { bytes: Vec::new(), left: *left };
            coding.decode(between.as_deref().unwrap_or(piece), &mut out)?;
            *left = out.left;
            between = Some(out.bytes);
        }
        self.decoded.take(between.as_deref().unwrap_or(piece))
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, Unreadable> {
        // An empty body has no coding either, whatever its header says.
        if self.begun && !self.codings.into_iter().all(|(coding, _)| coding.ends_well()) {
            return Err(Unreadable::Malformed);
        }
        Ok(self.decoded.bytes)
    }
}

impl Coding {
    fn new(name: &str, limit: usize) -> Result<Self, Unreadable> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Ok(Self::Inflate { state: Decompress::new_gzip(DEFLATE_WINDOW_LOG), at_end: false }),
            "deflate" => Ok(Self::Deflate),
            "br" => {
                let room = Room { bytes: Vec::new(), left: limit };
                Ok(Self::Brotli(Box::new(DecompressorWriter::new(room, STEP))))
            }
            "zstd" => {
                let mut state = Decoder::new().map_err(|_| Unreadable::UnknownCoding)?;
                state
                    .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
                    .map_err(|_| Unreadable::UnknownCoding)?;
                Ok(Self::Zstd { state, at_end: false })
            }
            _ => Err(Unreadable::UnknownCoding),
        }
    }

    fn decode(&mut self, piece: &[u8], out: &mut Room) -> Result<(), Unreadable> {
        if let (Self::Deflate, Some(first)) = (&*self, piece.first()) {
            // The compression method of zlib; what begins without a header begins so only if it pads with ones.
            let state = Decompress::new(first & 0x0f == 8);
            *self = Self::Inflate { state, at_end: false };
        }
        match self {
            Self::Deflate => Ok(()),
            Self::Inflate { state, at_end } => inflate(state, at_end, piece, out),
            Self::Brotli(writer) => {
                let written = writer.write_all(piece);
                let room = writer.get_mut();
                if written.is_err() {
                    return Err(if room.left == 0 { Unreadable::TooLarge } else { Unreadable::Malformed });
                }
                out.take(&std::mem::take(&mut room.bytes))
            }
            Self::Zstd { state, at_end } => decode_zstd(state, at_end, piece, out),
        }
    }

    fn ends_well(self) -> bool {
        match self {
            Self::Deflate => false,
            Self::Inflate { at_end, .. } | Self::Zstd { at_end, .. } => at_end,
            Self::Brotli(mut writer) => writer.close().is_ok(),
        }
    }
}

/// What follows the end is ignored, as browsers do.
fn inflate(state: &mut Decompress, at_end: &mut bool, mut piece: &[u8], out: &mut Room) -> Result<(), Unreadable> {
    let mut step = [0; STEP];
    while !*at_end {
        let (read, written) = (state.total_in(), state.total_out());
        let status = state.decompress(piece, &mut step, FlushDecompress::None).map_err(|_| Unreadable::Malformed)?;
        let read = usize::try_from(state.total_in() - read).unwrap_or(usize::MAX);
        let written = usize::try_from(state.total_out() - written).unwrap_or(usize::MAX);
        piece = piece.get(read..).unwrap_or_default();
        out.take(step.get(..written).unwrap_or_default())?;
        *at_end = matches!(status, Status::StreamEnd);
        if written < STEP && piece.is_empty() || read == 0 && written == 0 {
            break;
        }
    }
    Ok(())
}

fn decode_zstd(
    state: &mut Decoder<'static>,
    at_end: &mut bool,
    piece: &[u8],
    out: &mut Room,
) -> Result<(), Unreadable> {
    let mut step = [0; STEP];
    let mut input = InBuffer::around(piece);
    loop {
        let mut output = OutBuffer::around(&mut step[..]);
        let before = input.pos();
        let left = state.run(&mut input, &mut output).map_err(|_| Unreadable::Malformed)?;
        let written = output.pos();
        out.take(step.get(..written).unwrap_or_default())?;
        // One frame may follow another.
        *at_end = left == 0;
        let idle = input.pos() == before && written == 0;
        if idle || written < STEP && input.pos() == piece.len() {
            return Ok(());
        }
    }
}

impl Room {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(Unreadable::TooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes).map(|()| bytes.len()).map_err(|_| {
            self.left = 0;
            io::ErrorKind::FileTooLarge.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::header::{CONTENT_ENCODING, HeaderMap};

    use super::{Content, Unreadable};

    const LIMIT: usize = 100_000;

    /// `hello`, and a million zeros.
    const BROTLI: &[u8] = &[11, 2, 128, 104, 101, 108, 108, 111, 3];
    const BROTLI_BOMB: &[u8] = &[91, 63, 66, 143, 127, 2, 32, 30, 11, 4, 242, 115, 30, 0];

    #[test]
    fn every_coding_is_undone_in_pieces_of_any_size() {
        for (coding, body) in [
            ("gzip", gzip(b"hello")),
            ("X-GZIP", gzip(b"hello")),
            ("deflate", zlib(b"hello")),
            ("deflate", raw_deflate(b"hello")),
            ("br", BROTLI.to_vec()),
            ("zstd", zstd::encode_all(&b"hello"[..], 0).unwrap()),
            ("gzip, zstd", zstd::encode_all(gzip(b"hello").as_slice(), 0).unwrap()),
            ("identity", b"hello".to_vec()),
            ("", b"hello".to_vec()),
        ] {
            for size in [1, 2, 3, body.len()] {
                assert_eq!(decoded(coding, &body, size), Ok(b"hello".to_vec()), "{coding} in pieces of {size}");
            }
            let first_half = decoded(coding, &body[..body.len() / 2], 1);
            let uncoded = matches!(coding, "identity" | "");
            assert_eq!(first_half.is_ok(), uncoded, "{coding}: half of it");
            assert_eq!(decoded(coding, b"", 1), Ok(Vec::new()), "{coding}: nothing");
        }
    }

    #[test]
    fn what_unfolds_beyond_the_limit_is_not_unfolded() {
        let (fits, exceeds) = (vec![b'0'; LIMIT], vec![b'0'; LIMIT + 1]);
        for (coding, encode) in [
            ("gzip", gzip as fn(&[u8]) -> Vec<u8>),
            ("deflate", zlib),
            ("deflate", raw_deflate),
            ("zstd", |bytes| zstd::encode_all(bytes, 0).unwrap()),
            ("gzip, gzip", |bytes| gzip(&gzip(bytes))),
            ("", |bytes| bytes.to_vec()),
        ] {
            for size in [7, usize::MAX] {
                assert_eq!(decoded(coding, &encode(&fits), size).map(|bytes| bytes.len()), Ok(LIMIT), "{coding}");
                assert_eq!(decoded(coding, &encode(&exceeds), size), Err(Unreadable::TooLarge), "{coding}");
            }
        }
        assert_eq!(decoded("br", BROTLI_BOMB, usize::MAX), Err(Unreadable::TooLarge));
        // What stands between two codings counts, too.
        let bomb = gzip(&gzip(&vec![0; 1000 * LIMIT]));
        assert_eq!(decoded("gzip, gzip", &bomb, usize::MAX), Err(Unreadable::TooLarge));
        // Much that unfolds to nothing.
        let nothing = vec![0; 2 * LIMIT + 1];
        assert_eq!(decoded("zstd", &nothing, usize::MAX), Err(Unreadable::TooLarge));
    }

    #[test]
    fn what_we_did_not_ask_for_is_refused() {
        for (coding, body) in
            [("compress", &b"x"[..]), ("gzip, gzip, gzip", b"x"), ("gzip;q=1", b"x"), ("gz\u{e9}", b"x")]
        {
            assert_eq!(decoded(coding, body, 1), Err(Unreadable::UnknownCoding), "{coding}");
        }
        for (coding, body) in
            [("gzip", &b"not gzip"[..]), ("br", b"not brotli"), ("zstd", b"not zstd"), ("deflate", b"no")]
        {
            assert_eq!(decoded(coding, body, 100), Err(Unreadable::Malformed), "{coding}");
        }
        // A window of 128 MB is not made, however little is in it.
        let mut encoder = zstd::Encoder::new(Vec::new(), 0).unwrap();
        encoder.window_log(27).unwrap();
        encoder.include_contentsize(false).unwrap();
        encoder.write_all(b"hello").unwrap();
        assert_eq!(decoded("zstd", &encoder.finish().unwrap(), 100), Err(Unreadable::Malformed));
    }

    fn decoded(coding: &str, body: &[u8], size: usize) -> Result<Vec<u8>, Unreadable> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, http::HeaderValue::from_bytes(coding.as_bytes()).unwrap());
        let mut content = Content::new(&headers, body.len(), LIMIT)?;
        body.chunks(size.min(body.len()).max(1)).try_for_each(|piece| content.push(piece))?;
        content.finish()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
}
