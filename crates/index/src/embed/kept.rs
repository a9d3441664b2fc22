//! Vectors of texts that come again in the next process: the store is asked before the model.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_contract::BoxFuture;
use countersign_store::{ContextRows, Digest};

use super::{EmbedError, Embedder, from_bytes, to_bytes};

/// What another embedder says, kept beside the vectors of the index. A store that fails only costs time.
#[derive(Debug)]
pub struct Kept {
    embedder: Arc<dyn Embedder>,
    rows: ContextRows,
}

impl Kept {
    pub fn new(embedder: Arc<dyn Embedder>, rows: ContextRows) -> Self {
        Self { embedder, rows }
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let hashes: Vec<Digest> = texts.iter().map(|text| *blake3::hash(text.as_bytes()).as_bytes()).collect();
        let stored = self.rows.vectors(self.model(), &hashes).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "no vectors are read from the store");
            Vec::new()
        });
        let mut known: HashMap<Digest, Vec<f32>> =
            stored.into_iter().filter_map(|(hash, bytes)| Some((hash, from_bytes(&bytes)?))).collect();
        let lacking = texts.iter().zip(&hashes).filter(|(_, hash)| !known.contains_key(*hash));
        let (lacking, lacking_hashes): (Vec<String>, Vec<Digest>) =
            lacking.map(|(text, hash)| (text.clone(), *hash)).unzip();
        if !lacking.is_empty() {
            let made = self.embedder.embed(&lacking).await?;
            let rows = lacking_hashes.iter().copied().zip(made.iter().map(|vector| to_bytes(vector))).collect();
            if let Err(error) = self.rows.keep_vectors(self.model(), rows).await {
                tracing::debug!(%error, "no vectors are kept");
            }
            known.extend(lacking_hashes.into_iter().zip(made));
        }
        let of = |hash| known.get(hash).cloned().ok_or_else(|| EmbedError::Local("a text has no vector".to_owned()));
        hashes.iter().map(of).collect()
    }
}

impl Embedder for Kept {
    fn model(&self) -> &str {
        self.embedder.model()
    }

    fn dimensions(&self) -> Option<usize> {
        self.embedder.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.vectors(texts))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use countersign_store::Store;

    use super::*;

    /// Says how long a text is, and remembers what it was asked for.
    #[derive(Debug, Default)]
    struct Lengths(Mutex<Vec<String>>);

    impl Lengths {
        fn asked(&self) -> Vec<String> {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    impl Embedder for Lengths {
        fn model(&self) -> &'static str {
            "lengths"
        }

        fn dimensions(&self) -> Option<usize> {
            Some(1)
        }

        fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
            self.0.lock().unwrap().extend_from_slice(texts);
            let vectors = texts.iter().map(|text| vec![f32::from(u8::try_from(text.len()).unwrap())]).collect();
            Box::pin(async { Ok(vectors) })
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[tokio::test]
    async fn only_what_is_new_is_embedded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let lengths = Arc::new(Lengths::default());
        let kept = || Kept::new(Arc::clone(&lengths) as Arc<dyn Embedder>, store.context("tools".into()));
        assert_eq!(kept().embed(&texts(&["a", "bb", "a"])).await.unwrap(), [[1.0], [2.0], [1.0]]);
        lengths.asked();
        assert_eq!(kept().embed(&texts(&["ccc", "bb", "a"])).await.unwrap(), [[3.0], [2.0], [1.0]]);
        assert_eq!(lengths.asked(), ["ccc"]);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn without_a_store_everything_is() {
        let lengths = Arc::new(Lengths::default());
        let kept = Kept::new(Arc::clone(&lengths) as Arc<dyn Embedder>, ContextRows::nowhere());
        for _ in 0..2 {
            assert_eq!(kept.embed(&texts(&["a"])).await.unwrap(), [[1.0]]);
            assert_eq!(lengths.asked(), ["a"]);
        }
    }
}
