use rten_simd::SimdOp as _;

use super::passes::{Added, Bent, Plain, Powers, Product, Range};
use super::{Encoder, HEAD_WIDTH, HEADS, Integers, Parameters, Products, Scratch, WEIGHTS, WIDTH, WORDS, attention};

#[test]
fn weights_that_are_cut_or_too_long_are_refused() {
    let whole = zstd::decode_all(WEIGHTS).unwrap();
    let refusal = |bytes: &[u8]| {
        let file: &'static [u8] = Box::leak(zstd::encode_all(bytes, 1).unwrap().into_boxed_slice());
        Encoder::read_all(Parameters::of(file, Integers::Bytes).unwrap()).unwrap_err()
    };
    assert!(refusal(&whole[..whole.len() - 1]).starts_with("its weights end too early"));
    assert_eq!(refusal(&[&*whole, &[0, 0, 0]].concat()), "3 bytes of weights are left over");
}

#[test]
fn two_integers_in_a_byte_are_the_low_one_and_the_high_one() {
    let file: &'static [u8] = Box::leak(zstd::encode_all(&[0x1f, 0x80][..], 1).unwrap().into_boxed_slice());
    assert_eq!(Parameters::of(file, Integers::Halves).unwrap().integers(4).unwrap(), [7, -7, -8, 0]);
}

#[test]
fn what_is_no_token_is_refused() {
    let encoder = Encoder::load().unwrap();
    let run = |tokens: &[u32]| encoder.run(tokens, &mut Scratch::default(), &mut |_| ());
    let unknown = u32::try_from(WORDS).unwrap();
    assert_eq!(run(&[101, unknown, 102]).unwrap_err(), "it knows no token 30522");
    assert_eq!(run(&[101; 257]).unwrap_err(), "257 tokens are more than it reads");
    assert_eq!(run(&[101, unknown - 1, 102]).unwrap().len(), 3 * WIDTH);
}

#[test]
fn scratch_of_another_text_does_not_matter() {
    let encoder = Encoder::load().unwrap();
    let mut scratch = Scratch::default();
    let (long, short): (Vec<u32>, [u32; 4]) = ((1000..1200).collect(), [101, 2054, 2003, 102]);
    let mut run = |tokens: &[u32]| encoder.run(tokens, &mut scratch, &mut |_| ()).unwrap();
    let first = run(&short);
    run(&long);
    assert!(run(&short) == first);
}

#[test]
fn each_pass_does_what_it_says() {
    let sums: Vec<i32> = (0..2 * 64).map(|at| at * 37 % 101 - 50).collect();
    let (factors, bias): (Vec<f32>, Vec<f32>) =
        (0..64).map(|at: u8| (f32::from(at) / 64.0, f32::from(at) - 30.0)).unzip();
    let product = Product { sums: &sums, factors: &factors, bias: &bias };
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let values: Vec<f32> =
        sums.iter().enumerate().map(|(at, sum)| *sum as f32 * factors[at % 64] + bias[at % 64]).collect();

    let mut plain = vec![0.0; 128];
    Plain { from: product, to: &mut plain }.dispatch();
    assert_eq!(plain, values);

    let mut added = vec![2.0; 128];
    Added { from: product, to: &mut added }.dispatch();
    assert_eq!(added, values.iter().map(|value| value + 2.0).collect::<Vec<_>>());

    let mut bent = vec![0.0; 128];
    let range = Bent { from: product, to: &mut bent }.dispatch();
    for (bent, value) in bent.iter().zip(&values) {
        // Far from zero it is the value or nothing.
        let expected = if *value > 0.0 { *value } else { 0.0 };
        assert!((bent - expected).abs() < 0.18, "{value} {bent}");
    }
    assert_eq!((range.least, range.greatest), (Range::of(&bent).least, Range::of(&bent).greatest));
}

#[test]
fn scores_that_no_text_has_do_not_overflow() {
    let mut scores = [f32::MAX, 1000.0, 40.0, 0.0, -1000.0, f32::MIN, 41.0];
    Powers { scores: &mut scores, factor: 1.0 }.dispatch();
    assert!(scores.iter().all(|power| power.is_finite() && *power > 0.0), "{scores:?}");
    assert!((scores[2] - 1.0).abs() < 1e-6 && (scores[6] - 1.0_f32.exp()).abs() < 1e-5);
    assert!(scores.iter().sum::<f32>() * 256.0 < f32::MAX);
}

#[test]
fn a_token_takes_from_the_others_what_their_keys_answer() {
    let count = 3;
    // Head 5: the first query asks for what the third key answers. All others ask for nothing: everyone the same.
    let mut rows = vec![0.0; count * 3 * WIDTH];
    let at = |token: usize, part: usize, head: usize| (token * 3 + part) * WIDTH + head * HEAD_WIDTH;
    rows[at(0, 0, 5)] = 100.0;
    rows[at(2, 1, 5)] = 1.0;
    for (token, value) in [(0, 3.0), (1, 6.0), (2, 30.0)] {
        for head in 0..HEADS {
            rows[at(token, 2, head)] = value;
        }
    }
    let mut room = attention::Room::default();
    let all = attention::attend(&rows, &Products::default(), &mut room).unwrap();
    for token in 0..count {
        for head in 0..HEADS {
            let taken = all[token * WIDTH + head * HEAD_WIDTH];
            let expected = if (token, head) == (0, 5) { 30.0 } else { 13.0 };
            assert!((taken - expected).abs() < 1e-3, "token {token}, head {head}: {taken}");
        }
    }
}
