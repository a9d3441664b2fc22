use std::num::NonZeroUsize;
use std::{slice, thread};

use serde::Deserialize;

use super::encoder::{TOKENS_MAX, WIDTH};
use super::model::Model;
use super::{Local, cores};
use crate::embed::Embedder as _;

/// What sentence-transformers makes of them in fp32; `make_reference.py` beside it says how.
const REFERENCE: &str = include_str!("../../../tests/fixtures/reference_vectors.jsonl");

#[derive(Deserialize)]
struct Reference {
    text: String,
    /// In ten-thousandths.
    vector: Vec<f64>,
}

#[test]
fn vectors_agree_with_the_reference() {
    let reference = reference();
    let texts: Vec<String> = reference.iter().map(|one| one.text.clone()).collect();
    let vectors = Local::on_all_cores().embed_now(&texts).unwrap();
    let mut sum = 0.0;
    for (one, vector) in reference.iter().zip(&vectors) {
        assert_eq!(vector.len(), WIDTH);
        let length = one.vector.iter().map(|value| value * value).sum::<f64>().sqrt();
        let cosine = one.vector.iter().zip(vector).map(|(a, b)| a * f64::from(*b)).sum::<f64>() / length;
        assert!(cosine >= 0.97, "{cosine} {:?}", one.text);
        sum += cosine;
    }
    let mean = sum / f64::from(u32::try_from(reference.len()).unwrap());
    assert!(mean >= 0.99, "{mean}");
}

#[test]
fn a_vector_is_the_same_alone_in_any_company_and_from_several_threads() {
    let texts: Vec<String> = reference().into_iter().take(12).map(|one| one.text).collect();
    let alone = Local::on(NonZeroUsize::MIN);
    let alone: Vec<Vec<f32>> = texts.iter().flat_map(|text| alone.embed_now(slice::from_ref(text)).unwrap()).collect();
    let together = Local::on(NonZeroUsize::new(3).unwrap());
    assert!(together.embed_now(&texts).unwrap() == alone);
    let backwards: Vec<String> = texts.iter().rev().cloned().collect();
    assert!(together.embed_now(&backwards).unwrap().into_iter().rev().eq(alone.iter().cloned()));
    thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| together.embed_now(&texts).unwrap())).collect();
        for one in all {
            assert!(one.join().unwrap() == alone);
        }
    });
}

#[test]
fn long_texts_are_cut_and_empty_ones_have_a_vector() {
    let model = Model::shared().unwrap();
    let word = |count: usize| vec!["word"; count].join(" ");
    for (text, tokens) in
        [(String::new(), 2), (word(253), 255), (word(254), 256), (word(255), 256), (word(40_000), 256)]
    {
        assert_eq!(model.tokens(&text).unwrap().len(), tokens);
    }
    assert_eq!(TOKENS_MAX, 256);
    let texts = [word(254), word(255), String::new(), "\u{1f980}".repeat(50_000)];
    let vectors = Local::on_all_cores().embed_now(&texts).unwrap();
    assert!(vectors[0] == vectors[1]);
    for vector in vectors {
        let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[tokio::test]
async fn it_embeds_without_blocking_and_knows_what_it_is() {
    let local = Local::in_background();
    assert_eq!((local.model(), local.dimensions()), ("all-minilm-l6-v2/w7a8/256", Some(WIDTH)));
    let texts = ["one".to_owned(), "two".to_owned()];
    assert!(local.embed(&texts).await.unwrap() == local.embed_now(&texts).unwrap());
    assert!(local.embed(&[]).await.unwrap().is_empty());
    assert!(cores() >= NonZeroUsize::MIN);
}

fn reference() -> Vec<Reference> {
    REFERENCE.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_encoder_says_what_the_vectors_are_made_of() {
    let local = Local::on(NonZeroUsize::MIN);
    let text = "The parser is twice as fast.".to_owned();
    let (tokens, encoder) = (Local::tokens(&text).unwrap(), &Model::shared().unwrap().encoder);
    let mut given = Vec::new();
    let states = local.states(encoder, &tokens, &mut |states| given.push(states.len())).unwrap();
    assert_eq!(given, [tokens.len() * WIDTH]);
    let mut sum = vec![0.0; WIDTH];
    for state in states.chunks_exact(WIDTH) {
        sum.iter_mut().zip(state).for_each(|(total, value)| *total += value);
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    let whole = local.embed_now(slice::from_ref(&text)).unwrap();
    for (one, other) in whole[0].iter().zip(&sum) {
        assert!((one - other / length).abs() < 1e-5, "{one} {other}");
    }
    let changed =
        local.states(encoder, &tokens, &mut |states| states.iter_mut().for_each(|state| *state *= 1.1)).unwrap();
    assert!(changed != states);
}
