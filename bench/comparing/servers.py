"""What is compared: how each server is started on one core, and measured from another."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import time

GENERATOR_PATIENCE = 300


class Failed(Exception):
    """A server did not start, or a measurement went wrong."""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Bench:
    """Programs, cores and a scratch directory, for everybody."""

    def __init__(self, binaries, tools, scratch, server_core, generator_core):
        self.binaries, self.tools, self.scratch = binaries, tools, scratch
        self.server_core, self.generator_core = server_core, generator_core
        self.certificate, self.key = scratch / "certificate.pem", scratch / "key.pem"

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", self.key, "-out", self.certificate, "-days", "30", "-subj", "/CN=localhost"],
            check=True, capture_output=True)

    def on_core(self, core):
        return ["taskset", "-c", str(core)]

    def measure(self, words):
        """Runs a generator; its JSON document."""
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=GENERATOR_PATIENCE)
        if done.returncode not in (0, 1) or not done.stdout:
            raise Failed(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
        return json.loads(done.stdout)


class Variant:
    """One way to get messages to many."""

    def __init__(self, name, about, *, seals):
        self.name, self.about, self.seals = name, about, seals

    def run(self, bench, subscribers, series, seconds, warm_up):
        """The document of one measurement with one run for each of the series."""
        raise NotImplementedError


def options(subscribers, series, seconds, warm_up):
    return ["--subscribers", subscribers, "--series", ",".join(series), "--seconds", seconds, "--warm-up", warm_up,
            "--runs", 1]


class Antenna(Variant):
    """Our relay; antenna-bench starts it."""

    def __init__(self, name="antenna", loops=1):
        about = "antennad, a key for each subscriber, signature check, commit with synchronous=FULL, log"
        super().__init__(name, about + (f", {loops} loops" if loops > 1 else ""), seals=True)
        self.loops = loops

    def run(self, bench, subscribers, series, seconds, warm_up, *more):
        return bench.measure([
            bench.binaries / "antenna-bench", "--antennad", bench.binaries / "antennad", "--json", "--relay-core",
            bench.server_core, "--generator-core", bench.generator_core, "--loops", self.loops,
            *options(subscribers, series, seconds, warm_up), *more])


class Peer(Variant):
    """A server that fanload measures."""

    def __init__(self, name, about, dialect, command, *, tls=False, suite=None, seals=None):
        super().__init__(name, about, seals=tls if seals is None else seals)
        self.dialect, self.command, self.tls, self.suite = dialect, command, tls, suite

    @contextlib.contextmanager
    def started(self, bench):
        """The server, listening: its port and the process to measure."""
        port = free_port()
        place = bench.scratch / self.name
        place.mkdir(exist_ok=True)
        with open(place / "log", "ab") as log:
            process = subprocess.Popen(
                [*bench.on_core(bench.server_core), *map(str, self.command(bench, place, port, self.tls))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place)
        try:
            self._wait(process, port, place)
            yield port, worker(process.pid)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait(self, process, port, place):
        deadline = time.monotonic() + 20
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{self.name} did not start: {(place / 'log').read_text()[-300:]}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
        time.sleep(0.2)

    def run(self, bench, subscribers, series, seconds, warm_up):
        with self.started(bench) as (port, pid):
            tls = ["--tls", *(["--suite", self.suite] if self.suite else [])] if self.tls else []
            return bench.measure([
                *bench.on_core(bench.generator_core), bench.tools / "fanload", "--dialect", self.dialect, "--port", port,
                "--pid", pid, *tls, *options(subscribers, series, seconds, warm_up)])


class Floor(Peer):
    """The C program that only seals and sends: the same bytes that our relay does, or the message alone."""

    def __init__(self, name, about, *, sizes=None):
        super().__init__(name, about, "floor-sealed", floor, seals=True)
        self.sizes = sizes

    def run(self, bench, subscribers, series, seconds, warm_up):
        if not self.sizes:
            return super().run(bench, subscribers, series, seconds, warm_up)
        pace = [(text.split("/")[0], int((text.split("/") + [256])[1])) for text in series]
        document = super().run(bench, subscribers, [f"{how}/{self.sizes[size]}" for how, size in pace], seconds, warm_up)
        # In the report they stand beside the message that they are the frame of.
        for result, (_, size) in zip(document["series"], pace):
            result["size"] = size
        return document


def worker(pid):
    """The process that does the work: nginx has a child for it."""
    for _ in range(100):
        path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        children = path.read_text().split() if path.exists() else []
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "nginx":
            return pid
        if children:
            return int(children[0])
        time.sleep(0.02)
    raise Failed("nginx has no worker")


# ---- How they are started


def floor(bench, place, port, tls):
    return [bench.tools / "floor", port, "sealed"]


def mosquitto(bench, place, port, tls):
    lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "persistence false", "log_type error",
             "max_queued_messages 0", "max_queued_bytes 0", "max_inflight_messages 0", "set_tcp_nodelay true"]
    if os.geteuid() == 0:
        lines.append("user root")
    if tls:
        lines += [f"certfile {bench.certificate}", f"keyfile {bench.key}", "tls_version tlsv1.3"]
    (place / "mosquitto.conf").write_text("\n".join(lines) + "\n")
    return ["mosquitto", "-c", place / "mosquitto.conf"]


def nats(bench, place, port, tls):
    text = f'listen: "127.0.0.1:{port}"\nmax_connections: 60000\nmax_pending: 1GB\nping_interval: "1h"\n'
    if tls:
        text += f'tls {{ cert_file: "{bench.certificate}", key_file: "{bench.key}", timeout: 30 }}\n'
    (place / "nats.conf").write_text(text)
    return ["nats-server", "-c", place / "nats.conf"]


def redis(bench, place, port, tls):
    listening = ["--port", 0, "--tls-port", port, "--tls-cert-file", bench.certificate, "--tls-key-file", bench.key,
                 "--tls-auth-clients", "no"] if tls else ["--port", port]
    return ["redis-server", *listening, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--maxclients", 60000,
            "--client-output-buffer-limit", "pubsub 0 0 0", "--dir", place, "--loglevel", "warning"]


def nchan(bench, place, port, tls):
    temporary = "".join(
        f"    {what}_temp_path {place}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (place / "nginx.conf").write_text(f"""\
load_module /usr/lib/nginx/modules/ngx_nchan_module.so;
{"user root;" if os.geteuid() == 0 else ""}
daemon off; worker_processes 1; worker_rlimit_nofile 60000;
pid {place}/nginx.pid; error_log {place}/error.log error;
events {{ worker_connections 60000; use epoll; }}
http {{
    access_log off; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 1h;
{temporary}    nchan_shared_memory_size 256M;
    server {{
        listen 127.0.0.1:{port};
        location = /sub {{
            nchan_subscriber http-raw-stream; nchan_channel_id bench; nchan_subscriber_first_message newest;
            nchan_subscriber_timeout 0;
        }}
        location = /pub {{
            nchan_publisher; nchan_channel_id bench; nchan_store_messages on; nchan_message_buffer_length 1000;
            client_body_buffer_size 64k; client_body_in_single_buffer on;
        }}
    }}
}}
""")
    return ["nginx", "-c", place / "nginx.conf", "-e", place / "error.log"]


AES = "TLS_AES_256_GCM_SHA384"


def everybody(frame_sizes):
    """All variants by name. `frame_sizes`: bytes of our frame by the size of the message in it."""
    return {variant.name: variant for variant in [
        Antenna(),
        Antenna("antenna-2-loops", loops=2),
        Floor("floor", "C: seals and sends the bytes that our relay does, nothing else", sizes=frame_sizes),
        Floor("floor-bare", "the same with the message alone, without our frame around it"),
        Peer("mosquitto", "MQTT 3.1.1, QoS 0, plain", "mqtt", mosquitto),
        Peer("mosquitto-tls", "the same with TLS 1.3, AES-256-GCM", "mqtt", mosquitto, tls=True, suite=AES),
        Peer("nats", "NATS core, plain", "nats", nats),
        Peer("nats-tls", "the same with TLS 1.3; Go chooses AES-128-GCM", "nats", nats, tls=True),
        Peer("redis", "Redis pub/sub, plain", "resp", redis),
        Peer("redis-tls", "the same with TLS 1.3, AES-256-GCM", "resp", redis, tls=True, suite=AES),
        Peer("nchan", "nginx with nchan, raw HTTP stream, plain", "nchan", nchan),
    ]}
