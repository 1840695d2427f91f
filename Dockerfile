# Antenna's relay in a small image: no compiler, no shell needed, no root.
#
#   docker build -t antenna .
#   docker run --read-only --cap-drop ALL -p 5280:5280 -v antenna:/var/lib/antenna \
#       -e ANTENNA_RELAY__ADVERTISE=relay.example antenna
#   docker exec CONTAINER antennactl address

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        pkg-config libevent-dev libsodium-dev libsqlite3-dev libzstd-dev libqrencode-dev libinih-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
RUN swift build -c release --static-swift-stdlib --product antennad \
    && swift build -c release --static-swift-stdlib --product antennactl \
    && install -D -s -t /image/usr/bin .build/release/antennad .build/release/antennactl \
    && install -d -m 0700 -o 10001 -g 10001 /image/var/lib/antenna

FROM debian:12-slim
LABEL org.opencontainers.image.title="antenna" \
    org.opencontainers.image.description="A channel relay that anyone can host"
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libevent-core-2.1-7 libgcc-s1 libinih1 libqrencode4 libsodium23 libsqlite3-0 libstdc++6 libzstd1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /image /
ENV ANTENNA_RELAY__STATE=/var/lib/antenna \
    ANTENNA_RELAY__LISTEN=0.0.0.0:5280
USER 10001:10001
VOLUME ["/var/lib/antenna"]
EXPOSE 5280
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=15s CMD ["antennad", "healthcheck"]
ENTRYPOINT ["antennad"]
