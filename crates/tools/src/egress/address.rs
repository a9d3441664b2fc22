//! Which addresses belong to the public internet. Everything that IANA's registries of special addresses do not call
//! globally reachable is none of it, nor is what carries another address inside, unless that one is public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Address and length of a prefix.
type Prefix4 = ([u8; 4], u32);
type Prefix6 = ([u16; 8], u32);

const NOT_PUBLIC_4: [Prefix4; 17] = [
    ([0, 0, 0, 0], 8),          // "this network"; Linux takes 0.0.0.0 for itself
    ([10, 0, 0, 0], 8),         // private
    ([100, 64, 0, 0], 10),      // shared by carriers; one cloud's metadata service is in it
    ([127, 0, 0, 0], 8),        // loopback
    ([168, 63, 129, 16], 32),   // public by its number, but the inside of one cloud
    ([169, 254, 0, 0], 16),     // link-local; the metadata service of most clouds
    ([172, 16, 0, 0], 12),      // private
    ([192, 0, 0, 0], 24),       // protocol assignments; another metadata service
    ([192, 0, 2, 0], 24),       // documentation
    ([192, 88, 99, 0], 24),     // relays of 6to4, abandoned
    ([192, 168, 0, 0], 16),     // private
    ([198, 18, 0, 0], 15),      // benchmarks
    ([198, 51, 100, 0], 24),    // documentation
    ([203, 0, 113, 0], 24),     // documentation
    ([224, 0, 0, 0], 4),        // multicast
    ([240, 0, 0, 0], 4),        // reserved
    ([255, 255, 255, 255], 32), // broadcast
];

/// Nothing outside of this is public, whatever it is used for.
const GLOBAL_UNICAST_6: Prefix6 = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const NOT_PUBLIC_6: [Prefix6; 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments: Teredo, benchmarks, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), // 6to4: any IPv4 address inside, abandoned
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

/// The one translation that the public internet uses (RFC 6052): behind it is the IPv4 address of its last four bytes.
const NAT64: Prefix6 = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_4.iter().any(|prefix| within_4(address, *prefix)),
        IpAddr::V6(address) if within_6(address, NAT64) => {
            let [.., a, b, c, d] = address.octets();
            is_public(Ipv4Addr::new(a, b, c, d).into())
        }
        IpAddr::V6(address) => {
            within_6(address, GLOBAL_UNICAST_6) && !NOT_PUBLIC_6.iter().any(|prefix| within_6(address, *prefix))
        }
    }
}

/// Whether it is one machine's: what the operator vouches for may be private, but not everybody or nobody.
pub(super) fn is_somebodys(address: IpAddr) -> bool {
    let address = address.to_canonical();
    !address.is_unspecified() && !address.is_multicast() && address != IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn within_4(address: Ipv4Addr, (prefix, length): Prefix4) -> bool {
    (address.to_bits() ^ Ipv4Addr::from(prefix).to_bits()).leading_zeros() >= length
}

fn within_6(address: Ipv6Addr, (prefix, length): Prefix6) -> bool {
    (address.to_bits() ^ Ipv6Addr::from(prefix).to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{IpAddr, Ipv4Addr, Ipv6Addr, is_public, is_somebodys};

    /// Of the registries of special-purpose addresses, what is not globally reachable, and multicast: first and last.
    const SPECIAL: [(&str, &str); 32] = [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "239.255.255.255"),
        ("240.0.0.0", "255.255.255.255"),
        ("::", "::"),
        ("::1", "::1"),
        ("::ffff:0:0", "::ffff:ffff:ffff"),
        ("64:ff9b::7f00:0", "64:ff9b::7fff:ffff"),
        ("64:ff9b::a9fe:0", "64:ff9b::a9fe:ffff"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
        ("100::", "100::ffff:ffff:ffff:ffff"),
        ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ];

    /// The next to each range, where that is public.
    const NEIGHBOURS: [&str; 26] = [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db9::",
        "2003::",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2606:4700:4700::1111",
    ];

    #[test]
    fn ranges_end_where_they_end() {
        for (first, last) in SPECIAL {
            assert!(!is_public(address(first)) && !is_public(address(last)), "{first} {last}");
        }
        for public in NEIGHBOURS {
            assert!(is_public(address(public)), "{public}");
        }
        for (inside, public) in [("64:ff9b::808:808", true), ("64:ff9b::a00:1", false), ("64:ff9b::1:0:0", false)] {
            assert_eq!(is_public(address(inside)), public, "{inside}");
        }
        assert!(!is_public(address("168.63.129.16")) && !is_public(address("fd00:ec2::254")));
    }

    #[test]
    fn nobody_and_everybody_cannot_be_vouched_for() {
        for (text, somebodys) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("::1", true),
            ("fe80::1", true),
            ("0.0.0.0", false),
            ("::", false),
            ("::ffff:0.0.0.0", false),
            ("224.0.0.1", false),
            ("ff02::1", false),
            ("255.255.255.255", false),
        ] {
            assert_eq!(is_somebodys(address(text)), somebodys, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_special_is_public(range in 0..SPECIAL.len(), at in any::<u128>()) {
            let (first, last) = SPECIAL[range];
            let inside = between(address(first), address(last), at);
            prop_assert!(!is_public(inside), "{inside}");
            if let IpAddr::V4(inside) = inside {
                prop_assert!(!is_public(inside.to_ipv6_mapped().into()));
                prop_assert!(!is_public(inside.to_ipv6_compatible().into()));
                let [a, b, c, d] = inside.octets().map(u16::from);
                prop_assert!(!is_public(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a << 8 | b, c << 8 | d).into()));
            }
        }

        #[test]
        fn what_is_public_is_in_no_range(bits in any::<u128>(), short in any::<u32>()) {
            for found in [IpAddr::V6(Ipv6Addr::from_bits(bits)), IpAddr::V4(Ipv4Addr::from_bits(short))] {
                let special = SPECIAL.iter().any(|(first, last)| {
                    let (first, last) = (address(first), address(last));
                    first.is_ipv4() == found.is_ipv4() && first <= found && found <= last
                });
                let outside = matches!(found, IpAddr::V6(found) if found.segments()[0] >> 13 != 1);
                let public = !special && !outside && found != address("168.63.129.16");
                prop_assert!(is_public(found) == public, "{found}");
            }
        }
    }

    fn between(first: IpAddr, last: IpAddr, at: u128) -> IpAddr {
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                let span = u128::from(last.to_bits() - first.to_bits()) + 1;
                Ipv4Addr::from_bits(first.to_bits() + u32::try_from(at % span).unwrap()).into()
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                let span = (last.to_bits() - first.to_bits()).saturating_add(1);
                Ipv6Addr::from_bits(first.to_bits() + at % span).into()
            }
            _ => panic!("{first} {last}"),
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }
}
