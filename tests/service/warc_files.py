URL = "https://a.example/"
HTML = b"Content-Type: text/html; charset=utf-8"


def an_answer(
    url: str = URL, body: bytes = b"<p>tea", *headers: bytes, status: bytes = b"200 OK", kind: bytes = b"response"
) -> bytes:
    head = b"\r\n".join([b"HTTP/1.1 " + status, *(headers or (HTML,))])
    return a_record(url, head + b"\r\n\r\n" + body, kind)


def a_record(url: str, block: bytes, kind: bytes = b"response", *fields: bytes) -> bytes:
    lines = [
        b"WARC/1.0",
        b"WARC-Type: " + kind,
        b"WARC-Target-URI: " + url.encode(),
        b"WARC-Date: 2026-01-01T00:00:00Z",
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>",
        b"Content-Type: application/http; msgtype=response",
        *fields,
        b"Content-Length: %d" % len(block),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + block + b"\r\n\r\n"
