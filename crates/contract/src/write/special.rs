//! Where a text has bytes that JSON escapes. Eight bytes are looked at in one number; of such numbers the compiler takes
//! several at a time.

/// Bytes that are looked at together.
pub(super) const BLOCK: usize = 64;

/// What a byte's place holds if the byte is found.
const HIGH: u64 = every(0x80);

const fn every(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

pub(super) fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// The places of a block that are special, in order.
#[inline]
pub(super) fn specials(block: &[u8; BLOCK]) -> impl Iterator<Item = usize> {
    let (words, _) = block.as_chunks::<8>();
    let mut found = [0; BLOCK / 8];
    for (found, word) in found.iter_mut().zip(words) {
        *found = specials_of_word(u64::from_le_bytes(*word));
    }
    found.into_iter().enumerate().flat_map(|(index, found)| Bits(found).map(move |bit| index * 8 + bit / 8))
}

/// The high bit of every byte that is special. No sum reaches the next byte.
#[inline]
fn specials_of_word(word: u64) -> u64 {
    let not_control = ((word & !HIGH) + every(0x80 - b' ')) | word;
    let not_same = |byte| {
        let differs = word ^ every(byte);
        ((differs & !HIGH) + every(0x7f)) | differs
    };
    !(not_control & not_same(b'"') & not_same(b'\\')) & HIGH
}

/// The places of the bits that are set, from the lowest.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_apart_at_every_place() {
        for around in [b'x', 0, b'"', 0xff] {
            for (place, byte) in (0..BLOCK).flat_map(|place| (0..=u8::MAX).map(move |byte| (place, byte))) {
                let mut block = [around; BLOCK];
                block[place] = byte;
                let expected: Vec<_> = (0..BLOCK).filter(|place| is_special(block[*place])).collect();
                assert_eq!(specials(&block).collect::<Vec<_>>(), expected, "{byte} at {place} among {around}");
            }
        }
    }
}
