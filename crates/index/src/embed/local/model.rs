//! Words to tokens, tokens to states, states to a vector: the model as it is in the binary.

use std::fmt;
use std::sync::OnceLock;

use tokenizers::decoders::wordpiece::WordPiece as Decoder;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{TokenizerImpl, TruncationParams};

use super::encoder::{Encoder, Scratch, TOKENS_MAX, WIDTH};
use crate::embed::{EmbedError, unit};

static TOKENIZER: &[u8] = include_bytes!("../../../data/all-minilm-l6-v2-int8/tokenizer.json.zst");

/// Of a text this long nothing is left after the cut but the start, so the rest is not even tokenised.
const BYTES_MAX: usize = 64 * 1024;

/// Its parts by name: read as "some tokenizer", the file takes three times as long to load.
type Tokenizer = TokenizerImpl<WordPiece, BertNormalizer, BertPreTokenizer, TemplateProcessing, Decoder>;

pub(super) struct Model {
    tokenizer: Tokenizer,
    pub(super) encoder: Encoder,
}

impl Model {
    /// The one for the whole process; who comes while it is being loaded waits.
    pub(super) fn shared() -> Result<&'static Self, EmbedError> {
        static SHARED: OnceLock<Result<Model, String>> = OnceLock::new();
        SHARED.get_or_init(Self::load).as_ref().map_err(|error| EmbedError::Local(error.clone()))
    }

    fn load() -> Result<Self, String> {
        let tokenizer = zstd::decode_all(TOKENIZER).map_err(|error| error.to_string())?;
        let mut tokenizer = Tokenizer::from_bytes(tokenizer).map_err(|error| error.to_string())?;
        let truncation = TruncationParams { max_length: TOKENS_MAX, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        Ok(Self { tokenizer, encoder: Encoder::load()? })
    }

    /// To be called on a lane.
    pub(super) fn vector(&self, text: &str, scratch: &mut Scratch) -> Result<Vec<f32>, EmbedError> {
        let tokens = self.tokens(text).map_err(EmbedError::Local)?;
        let states = self.encoder.run(&tokens, scratch, &mut |_| ()).map_err(EmbedError::Local)?;
        // The sum is as good as the mean, since only the direction is kept; without padding every token counts.
        let mut sum = vec![0.0; WIDTH];
        for state in states.chunks_exact(WIDTH) {
            for (total, value) in sum.iter_mut().zip(state) {
                *total += value;
            }
        }
        unit(sum).ok_or_else(|| EmbedError::Local("its vector has no direction".to_owned()))
    }

    pub(super) fn tokens(&self, text: &str) -> Result<Vec<u32>, String> {
        let (start, _) = text.split_at(text.floor_char_boundary(BYTES_MAX));
        let encoding = self.tokenizer.encode_fast(start, true).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}
