//! Which answers are text, and the text itself: by the declared type first, then by the bytes, which may say otherwise.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

/// Text although their names do not begin with `text/` nor end with `+json`, `+xml` or `+yaml`.
const TEXT_APPLICATIONS: [&str; 26] = [
    "csv",
    "ecmascript",
    "graphql",
    "javascript",
    "json",
    "json5",
    "json-seq",
    "jsonl",
    "jsonlines",
    "mbox",
    "ndjson",
    "rtf",
    "sql",
    "toml",
    "typescript",
    "x-httpd-php",
    "x-javascript",
    "x-latex",
    "x-ndjson",
    "x-sh",
    "x-subrip",
    "x-tex",
    "x-www-form-urlencoded",
    "x-yaml",
    "xml",
    "yaml",
];

/// How files begin that are no text, whatever they are called. Those that soon have a zero byte need not be here.
const SIGNATURES: [&[u8]; 15] = [
    b"%PDF-",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd",
    b"\x7fELF",
    b"\x00asm",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
];

/// Where pages declare their encoding, if they do (HTML §4.2.5.5).
const DECLARED_WITHIN: usize = 1024;

/// What the answer says about its body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Declared {
    /// `type/subtype` in lower case; empty where there is none that could be read.
    essence: String,
    charset: Option<String>,
}

/// It is not text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotText;

impl Declared {
    /// Refuses what is declared as something else, of several declarations by any of them.
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, NotText> {
        let mut declared = headers.get_all(CONTENT_TYPE).iter().map(Self::parse);
        let first = declared.next().unwrap_or_default();
        if first.may_be_text() && declared.all(|other| other.may_be_text()) { Ok(first) } else { Err(NotText) }
    }

    fn parse(value: &HeaderValue) -> Self {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().filter(|essence| is_essence(essence)).unwrap_or_default().to_owned();
        let charset = parts.find_map(|parameter| parameter.strip_prefix("charset="));
        Self { essence, charset: charset.map(|charset| charset.trim_matches(['"', '\'', ' ']).to_owned()) }
    }

    /// Nothing that can be read leaves it to the bytes.
    fn may_be_text(&self) -> bool {
        let Some((kind, name)) = self.essence.split_once('/') else { return true };
        let suffix = name.rsplit_once('+').map(|(_, suffix)| suffix);
        matches!(kind, "text" | "message")
            || matches!(suffix, Some("json" | "xml" | "yaml"))
            || (kind == "application" && TEXT_APPLICATIONS.contains(&name))
    }

    /// The body as text. Its byte order mark wins over the header, that over the page's own word.
    pub(super) fn decode(&self, mut bytes: Vec<u8>) -> Result<String, NotText> {
        if SIGNATURES.iter().any(|signature| bytes.starts_with(signature)) {
            return Err(NotText);
        }
        let (marked, mark) = Encoding::for_bom(&bytes).map_or((None, 0), |(encoding, length)| (Some(encoding), length));
        let encoding = marked.or_else(|| self.encoding(&bytes));
        if mark == 0 && encoding.is_none_or(|encoding| encoding == UTF_8) {
            match String::from_utf8(bytes) {
                Ok(text) => return plain(text),
                Err(error) => bytes = error.into_bytes(),
            }
        }
        // What is not UTF-8 and does not say what it is was written before UTF-8.
        let encoding = encoding.unwrap_or(WINDOWS_1252);
        let unmarked = bytes.get(mark..).unwrap_or_default();
        plain(encoding.decode_without_bom_handling(unmarked).0.into_owned())
    }

    fn encoding(&self, bytes: &[u8]) -> Option<&'static Encoding> {
        let by_header = self.charset.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
        by_header.or_else(|| {
            let by_page = Encoding::for_label(declared_inside(bytes)?.as_bytes())?;
            // It could be read as ASCII so far.
            let impossible = by_page == UTF_16LE || by_page == UTF_16BE;
            Some(if impossible { UTF_8 } else { by_page })
        })
    }
}

/// No text has the character that ends texts elsewhere.
fn plain(text: String) -> Result<String, NotText> {
    if memchr::memchr(0, text.as_bytes()).is_some() { Err(NotText) } else { Ok(text) }
}

fn is_essence(text: &str) -> bool {
    let token = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    text.split_once('/').is_some_and(|(kind, name)| token(kind) && token(name))
}

/// `<meta charset="…">`, `<meta … content="text/html; charset=…">` or `<?xml … encoding="…"?>`.
fn declared_inside(bytes: &[u8]) -> Option<String> {
    let beginning = bytes.get(..DECLARED_WITHIN).unwrap_or(bytes);
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let (element, word) = match text.strip_prefix("<?xml") {
        Some(declaration) => (declaration.split('>').next()?, "encoding"),
        None => (text.split("<meta").skip(1).map(until_end).find(|meta| meta.contains("charset"))?, "charset"),
    };
    let value = element.split(word).nth(1)?.trim_start().strip_prefix('=')?;
    let label =
        value.trim_start_matches(|character: char| character.is_whitespace() || matches!(character, '"' | '\''));
    let end =
        label.find(|character: char| character.is_whitespace() || matches!(character, '"' | '\'' | ';' | '/' | '?'));
    Some(label.get(..end.unwrap_or(label.len()))?.to_owned())
}

fn until_end(element: &str) -> &str {
    element.split('>').next().unwrap_or(element)
}

#[cfg(test)]
mod tests {
    use http::header::{CONTENT_TYPE, HeaderMap};

    use super::{Declared, NotText};

    #[test]
    fn what_is_declared_as_binary_is_not_looked_at() {
        for text in [
            "text/plain",
            "TEXT/HTML; charset=utf-8",
            "application/json",
            "application/problem+json",
            "application/xhtml+xml",
            "image/svg+xml",
            "application/yaml ; x=y",
            "message/rfc822",
            "",
            ";;;/=;",
            "nonsense",
        ] {
            assert!(read(&[text]).is_ok(), "{text}");
        }
        for binary in [
            "application/octet-stream",
            "APPLICATION/OCTET-STREAM; charset=utf-8",
            "application/pdf",
            "application/zip",
            "application/msword",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/wasm",
            "image/png",
            "audio/mpeg",
            "video/mp4",
            "font/woff2",
            "multipart/form-data",
        ] {
            assert_eq!(read(&[binary]), Err(NotText), "{binary}");
            assert_eq!(read(&["text/plain", binary]), Err(NotText), "{binary}");
        }
        assert!(Declared::read(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_whatever_they_are_called() {
        for binary in [
            &b"\x89PNG\r\n\x1a\n\0\0"[..],
            b"%PDF-1.7 text",
            b"PK\x03\x04",
            b"GIF89a",
            b"\xff\xd8\xff\xe0",
            b"\x1f\x8b\x08",
            b"a\0b",
            b"\xff\xfea\0\0\0",
        ] {
            for content_type in ["text/plain", "text/html; charset=utf-8", ""] {
                assert_eq!(decode(content_type, binary), Err(NotText), "{binary:?}");
            }
        }
    }

    #[test]
    fn text_is_read_in_its_own_encoding() {
        for (content_type, bytes, text) in [
            ("text/plain", &b"na\xc3\xafve"[..], "naïve"),
            ("text/plain", b"", ""),
            ("text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
            ("text/plain; charset=\"UTF-8\"", b"caf\xc3\xa9", "café"),
            ("text/plain; charset=utf-8", b"caf\xe9!", "caf\u{fffd}!"),
            ("text/plain;charset=shift_jis", b"\x83e\x83X\x83g", "テスト"),
            ("text/plain; charset=utf-16le", b"a\0b\0", "ab"),
            ("text/plain; charset=utf-8", b"\xff\xfea\0b\0", "ab"),
            ("text/plain; charset=iso-8859-1", b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
            ("text/plain; charset=nonsense", b"caf\xe9", "café"),
            ("text/plain", b"caf\xe9", "café"),
            ("text/plain", b"OK \x1b[2J\x07", "OK \u{1b}[2J\u{7}"),
            ("text/html", b"<meta charset=windows-1251>\xcf", "<meta charset=windows-1251>П"),
            (
                "text/html",
                b"<meta name=x><META content='text/html; CHARSET=windows-1251'>\xcf",
                "<meta name=x><META content='text/html; CHARSET=windows-1251'>П",
            ),
            ("text/html; charset=utf-8", b"<meta charset=windows-1251>\xc3\xaf", "<meta charset=windows-1251>ï"),
            ("text/html", b"<meta charset=utf-16>\xc3\xaf", "<meta charset=utf-16>ï"),
            (
                "application/xml",
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                "<?xml version='1.0' encoding='koi8-r'?>П",
            ),
        ] {
            assert_eq!(decode(content_type, bytes).as_deref(), Ok(text), "{content_type} {bytes:?}");
        }
    }

    fn decode(content_type: &str, bytes: &[u8]) -> Result<String, NotText> {
        read(&[content_type])?.decode(bytes.to_vec())
    }

    fn read(content_types: &[&str]) -> Result<Declared, NotText> {
        let mut headers = HeaderMap::new();
        for content_type in content_types {
            headers.append(CONTENT_TYPE, content_type.parse().unwrap());
        }
        Declared::read(&headers)
    }
}
