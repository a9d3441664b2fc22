//! The weights and the tokenizer, as they are in the binary, and one run of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rten::{ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, op_registry};
use tokenizers::decoders::wordpiece::WordPiece as Decoder;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{TokenizerImpl, TruncationParams};

use crate::embed::{EmbedError, unit};

static WEIGHTS: &[u8] = include_bytes!("../../../data/all-minilm-l6-v2-int8/model.onnx");
static TOKENIZER: &[u8] = include_bytes!("../../../data/all-minilm-l6-v2-int8/tokenizer.json");

/// What the model reads of a text, the two that mark its ends included; it was trained with no more.
pub const TOKENS_MAX: usize = 256;

pub(super) const DIMENSIONS: usize = 384;

/// What each layer hands to the next, first the embeddings, then two for each layer; `make_model.py` names them.
pub(super) const JOINTS: [&str; 13] = [
    "value_7_0",
    "value_47_0",
    "value_62_0",
    "value_102_0",
    "value_117_0",
    "value_157_0",
    "value_172_0",
    "value_212_0",
    "value_227_0",
    "value_267_0",
    "value_282_0",
    "value_322_0",
    LAST,
];

const LAST: &str = "last_hidden_state";

/// Of a text this long nothing is left after the cut but the start, so the rest is not even tokenised.
const BYTES_MAX: usize = 64 * 1024;

/// Its parts by name: read as "some tokenizer", the file takes three times as long to load.
type Tokenizer = TokenizerImpl<WordPiece, BertNormalizer, BertPreTokenizer, TemplateProcessing, Decoder>;

pub(super) struct Model {
    graph: rten::Model,
    tokenizer: Tokenizer,
    input: NodeId,
    output: NodeId,
    joints: Vec<NodeId>,
}

/// What this model is made of; all that there are would be megabytes more of program.
fn operations() -> OpRegistry {
    op_registry!(
        Add,
        Cast,
        Clip,
        Div,
        DynamicQuantizeLinear,
        Exp,
        Gather,
        Gelu,
        LayerNormalization,
        MatMul,
        MatMulInteger,
        Mul,
        ReduceSum,
        Reshape,
        Shape,
        Slice,
        Sub,
        Transpose
    )
}

impl Model {
    /// The one for the whole process; who comes while it is being loaded waits.
    pub(super) fn shared() -> Result<&'static Self, EmbedError> {
        static SHARED: OnceLock<Result<Model, String>> = OnceLock::new();
        SHARED.get_or_init(Self::load).as_ref().map_err(|error| EmbedError::Local(error.clone()))
    }

    fn load() -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_bytes(TOKENIZER).map_err(|error| error.to_string())?;
        let truncation = TruncationParams { max_length: TOKENS_MAX, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        // Costs 20 ms and 11 MB once, and saves a seventh of every long run and half of every short one.
        let options = ModelOptions::with_ops(operations()).prepack_weights(true).clone();
        let graph = options.load_static_slice(WEIGHTS).map_err(|error| error.to_string())?;
        let node = |name: &str| graph.node_id(name).map_err(|error| error.to_string());
        let (input, output) = (node("input_ids")?, node(LAST)?);
        let joints = JOINTS.into_iter().map(node).collect::<Result<_, _>>()?;
        Ok(Self { graph, tokenizer, input, output, joints })
    }

    /// To be called on the pool.
    pub(super) fn vector(&self, text: &str, pool: &Arc<ThreadPool>) -> Result<Vec<f32>, EmbedError> {
        let tokens = self.tokens(text).map_err(EmbedError::Local)?;
        let states = self.run(tokens, pool).map_err(EmbedError::Local)?;
        // The sum is as good as the mean, since only the direction is kept; without padding every token counts.
        let mut sum = vec![0.0; DIMENSIONS];
        for state in states.chunks_exact(DIMENSIONS) {
            for (total, value) in sum.iter_mut().zip(state) {
                *total += value;
            }
        }
        unit(sum).ok_or_else(|| EmbedError::Local("its vector has no direction".to_owned()))
    }

    pub(super) fn tokens(&self, text: &str) -> Result<Vec<i32>, String> {
        let (start, _) = text.split_at(text.floor_char_boundary(BYTES_MAX));
        let encoding = self.tokenizer.encode_fast(start, true).map_err(|error| error.to_string())?;
        encoding.get_ids().iter().map(|id| i32::try_from(*id).map_err(|error| error.to_string())).collect()
    }

    /// What the last layer says, token after token, if each layer is given what `change` makes of the states before it.
    pub(super) fn states(
        &self,
        tokens: Vec<i32>,
        pool: &Arc<ThreadPool>,
        change: &mut dyn FnMut(usize, &mut [f32]),
    ) -> Result<Vec<f32>, String> {
        let count = tokens.len();
        let (mut from, mut states) = (self.input, Vec::new());
        let mut value = Value::from_shape([1, count], tokens).map_err(|error| error.to_string())?;
        for (number, &joint) in self.joints.iter().enumerate() {
            states = self.section((from, value), joint, count, pool)?;
            change(number, &mut states);
            value = Value::from_shape([1, count, DIMENSIONS], states.clone()).map_err(|error| error.to_string())?;
            from = joint;
        }
        Ok(states)
    }

    /// What the last layer says, token after token.
    fn run(&self, tokens: Vec<i32>, pool: &Arc<ThreadPool>) -> Result<Vec<f32>, String> {
        let count = tokens.len();
        let tokens = Value::from_shape([1, count], tokens).map_err(|error| error.to_string())?;
        self.section((self.input, tokens), self.output, count, pool)
    }

    fn section(
        &self,
        (from, value): (NodeId, Value),
        to: NodeId,
        count: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<f32>, String> {
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let outputs = self.graph.run_n(vec![(from, value.into())], [to], Some(options));
        let [states] = outputs.map_err(|error| error.to_string())?;
        let (shape, states) = states.into_shape_vec::<f32, 3>().map_err(|error| error.to_string())?;
        if shape != [1, count, DIMENSIONS] {
            return Err(format!("its answer has the shape {shape:?}"));
        }
        Ok(states)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}
