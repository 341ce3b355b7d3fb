# The workflow with all its tools, from the same lock as everywhere:
#   docker build -t recency .
#   docker run --rm -v "$PWD/results:/recency/results" -v "$PWD/data/downloads:/recency/data/downloads" \
#     recency --cores 2 --configfile config.demo.yaml
FROM debian:bookworm-slim

# Without a GPU, --build-arg PIP_EXTRA_INDEX_URL=… with PyTorch's index of CPU wheels saves three gigabytes.
ARG PIP_EXTRA_INDEX_URL=
WORKDIR /recency
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git make \
    && rm -rf /var/lib/apt/lists/*

# The tools first: they are built anew only if one of these files changes.
COPY setup.sh requirements.lock pyproject.toml README.md LICENSE ./
COPY setup setup
COPY envs/kenlm.post-deploy.sh envs/
COPY src/recency/__init__.py src/recency/__init__.py
COPY packages/crosslmm/pyproject.toml packages/crosslmm/README.md packages/crosslmm/
COPY packages/crosslmm/src/crosslmm/__init__.py packages/crosslmm/src/crosslmm/__init__.py
COPY packages/readingtimes/pyproject.toml packages/readingtimes/README.md packages/readingtimes/
COPY packages/readingtimes/src/readingtimes/__init__.py packages/readingtimes/src/readingtimes/__init__.py
RUN PIP_EXTRA_INDEX_URL="$PIP_EXTRA_INDEX_URL" PIP_NO_CACHE_DIR=1 ./setup.sh && rm -rf /var/lib/apt/lists/*
COPY . .

ENTRYPOINT ["./run"]
CMD ["--help"]
