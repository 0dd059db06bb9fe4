"""A page that asks for something elsewhere in every way that there is."""

from collections.abc import Iterable

# Each names itself in what it asks for.
_WITHOUT_SCRIPTS = """
<link rel=stylesheet href="http://{there}/style-elsewhere">
<link rel=preconnect href="http://{there}"><link rel=dns-prefetch href="//{there}">
<link rel=prefetch href="http://{there}/prefetch"><link rel=preload as=image href="http://{there}/preload">
<link rel=icon href="http://{there}/icon"><link rel=manifest href="http://{there}/manifest">
<link rel=modulepreload href="http://{there}/modulepreload">
<style>@import "http://{there}/import"; @import url(http://{there}/import-url);
  @font-face {{ font-family: f; src: url(http://{there}/font) }}
  b {{ font-family: f; background: url(http://{there}/background); cursor: url(http://{there}/cursor), auto }}
  b::after {{ content: url(http://{there}/content) }} li {{ list-style-image: url(http://{there}/list) }}</style>
<b>text</b><li>text</li>
<img src="http://{there}/image"><img srcset="http://{there}/srcset 2x">
<picture><source srcset="http://{there}/source"><img></picture>
<svg><image href="http://{there}/svg-image" /><use href="http://{there}/svg-use#a" /></svg>
<video src="http://{there}/video" poster="http://{there}/poster" preload=auto></video>
<audio src="http://{there}/audio" preload=auto></audio><track src="http://{there}/track">
<iframe src="http://{there}/iframe"></iframe><iframe srcdoc="<img src=http://{there}/srcdoc>"></iframe>
<object data="http://{there}/object"></object><embed src="http://{there}/embed">
<input type=image src="http://{there}/input">
<iframe src="file:///etc/hostname"></iframe><iframe src="chrome://version"></iframe>
<iframe src="view-source:http://{there}/view-source"></iframe>
<table background="http://{there}/table"><tr><td>text</table>
"""

_WITH_SCRIPTS = """
<a id=download download href="http://{there}/download">text</a><a id=ping href="#here" ping="http://{there}/ping">text</a>
<script>
const attempt = (what) => {{
  try {{ const made = what(); if (made && made.catch) made.catch(() => 0) }} catch {{ }}
}};
attempt(() => fetch("http://{there}/fetch"));
attempt(() => fetch("http://{there}/fetch-post", {{ method: "POST", body: "a", mode: "no-cors", keepalive: true }}));
attempt(() => {{ const asked = new XMLHttpRequest(); asked.open("GET", "http://{there}/xhr"); asked.send() }});
attempt(() => new WebSocket("ws://{there}/websocket"));
attempt(() => new EventSource("http://{there}/eventsource"));
attempt(() => navigator.sendBeacon("http://{there}/beacon", "a"));
attempt(() => {{ new Image().src = "http://{there}/new-image" }});
attempt(() => new Worker(URL.createObjectURL(new Blob(["fetch('http://{there}/worker')"]))));
attempt(() => new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://{there}/worker-socket')"]))));
attempt(() => new SharedWorker("/shared-worker"));
attempt(() => navigator.serviceWorker.register("/service-worker"));
attempt(() => import("http://{there}/module"));
attempt(() => new WebTransport("https://{there}/transport").ready);
attempt(() => new Audio("http://{there}/new-audio").play());
attempt(() => new FontFace("g", "url(http://{there}/new-font)").load());
attempt(() => document.getElementById("download").click());
attempt(() => document.getElementById("ping").click());
attempt(() => {{
  const frame = document.createElement("iframe");
  frame.src = "javascript:fetch('http://{there}/script-frame')";
  document.body.append(frame);
}});
attempt(() => {{
  const calls = new RTCPeerConnection({{ iceServers: [{{ urls: "stun:{there}" }},
    {{ urls: "stun:{there}?transport=tcp" }},
    {{ urls: "turn:{there}?transport=tcp", username: "a", credential: "b" }}] }});
  calls.createDataChannel("a");
  return calls.createOffer().then((offer) => calls.setLocalDescription(offer));
}});
attempt(() => {{
  const rules = document.createElement("script");
  rules.type = "speculationrules";
  rules.textContent = JSON.stringify({{ prefetch: [{{ source: "list", urls: ["http://{there}/speculation"] }}],
    prerender: [{{ source: "list", urls: ["/prerender"] }}] }});
  document.head.append(rules);
}});
</script>
"""


def hostile_page(places: Iterable[str], *, scripts: bool) -> str:
    """Return a page that wants something of each `host:port`."""
    written = _WITHOUT_SCRIPTS + (_WITH_SCRIPTS if scripts else "")
    return "".join(written.format(there=place) for place in places)
