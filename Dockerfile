# SPDX-License-Identifier: Apache-2.0
# Debian with its own packages only; compose.yaml uses all stages.
FROM debian:12-slim AS server
WORKDIR /curator
COPY scripts/lib scripts/lib
RUN scripts/lib/packages-install server && rm -rf /var/lib/apt/lists/*
VOLUME /var/lib/zookeeper
EXPOSE 2181
CMD ["scripts/lib/zookeeper-node"]

FROM server AS secured-server
RUN scripts/lib/packages-install secured-server && rm -rf /var/lib/apt/lists/*

FROM debian:12-slim AS play
WORKDIR /curator
COPY scripts/lib scripts/lib
RUN scripts/lib/packages-install play && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release -DCURATOR_BUILD_TESTS=OFF && cmake --build build/release && cmake --install build/release && ldconfig
ENV JAVA_CLASSES=/curator/build/release/java
CMD ["zkflock", "top"]

FROM debian:12-slim AS test
WORKDIR /curator
COPY . .
RUN scripts/lib/packages-install test && rm -rf /var/lib/apt/lists/*
CMD ["scripts/test"]
