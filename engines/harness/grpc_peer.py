"""A server and a client of gRPC, for an interpreter that has `grpcio`.

usage: grpc_peer.py serve | grpc_peer.py call PORT... | grpc_peer.py chat PORT... | grpc_peer.py gzip PORT...

`serve` prints its port, and returns each message. `call` prints a JSON object for each port: the code and the details that
the client reports for a message of all bytes, and whether the message came back unchanged. `chat` sends messages with a string, of
which the third is ill-formed, one after the other over one stream, and prints the strings that came back, and the code. `gzip` sends
two messages in gzip, the second with an ill-formed string, and prints the end of the string that came back, or the details.
"""

import json
import queue
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

METHOD = "/utf8.Echo/Echo"
MESSAGE = bytes(range(256)) * 3
CHAT = "/utf8.Echo/Chat"
STRINGS = ["naïve".encode(), b"", b"caf\xff", b"good"]
# A message that does not become shorter is not compressed.
LONG = "naïve ".encode() * 500


def serve():
    class Echo(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method == CHAT:
                return grpc.stream_stream_rpc_method_handler(lambda requests, _: requests)
            return grpc.unary_unary_rpc_method_handler(lambda request, _: request) if details.method == METHOD else None

    server = grpc.server(ThreadPoolExecutor(4), handlers=[Echo()])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


def call(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            message = channel.unary_unary(METHOD)(MESSAGE, timeout=60)
            return {"code": "OK", "details": "", "same": message == MESSAGE}
        except grpc.RpcError as error:
            return {"code": error.code().name, "details": error.details(), "same": False}


def chat(port):
    strings, returned = [], queue.SimpleQueue()
    returned.put(True)

    def messages():
        for string in STRINGS:
            if not returned.get():
                return
            yield b"\x0a" + bytes([len(string)]) + string

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            for message in channel.stream_stream(CHAT)(messages(), timeout=60):
                strings.append(message[2:].decode(errors="replace"))
                returned.put(True)
            return {"strings": strings, "code": "OK"}
        except grpc.RpcError as error:
            return {"strings": strings, "code": error.code().name}
        finally:
            returned.put(False)


def packed(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}", compression=grpc.Compression.Gzip) as channel:
        for string in (LONG + b"e", LONG + b"\xff"):
            message = b"\x0a" + bytes([len(string) & 0x7F | 0x80, len(string) >> 7]) + string
            try:
                returned = channel.unary_unary(METHOD)(message, timeout=60)
                yield returned[3 + len(LONG) :].decode(errors="backslashreplace")
            except grpc.RpcError as error:
                yield f"{error.code().name}: {error.details()}"


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    run = {"call": call, "chat": chat, "gzip": lambda port: list(packed(port))}[sys.argv[1]]
    for port in sys.argv[2:]:
        print(json.dumps(run(port)), flush=True)
