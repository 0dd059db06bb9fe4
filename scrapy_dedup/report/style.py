"""The report's style sheet: light and dark, phone to wide screen, no font or picture from elsewhere."""

CSS = """
:root {
  color-scheme: light dark;
  --ground: #fbfaf7; --panel: #ffffff; --ink: #1d2125; --soft: #5a6169; --line: #e2dfd8;
  --kept: #17716a; --cut: #a8431f; --cut-ground: #fcf1ec; --cut-line: #e3b19d; --track: #efece5; --link: #14605a;
  --kept-ground: #eaf4f1; --cut-mark: #f5c9b6; --kept-mark: #b5dfd7;
  --patterns: #6b3fa0; --patterns-ground: #f5effb; --patterns-line: #cdb6e6;
  --chunk: #1c5c96; --chunk-ground: #edf4fb; --chunk-line: #a9c9e8;
  --language: #7a5b00; --language-ground: #fbf5e0; --language-line: #dcc780;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --panel: #1b1f23; --ink: #e7e5e0; --soft: #a3a9b0; --line: #30363c;
    --kept: #4fb8ab; --cut: #f0936d; --cut-ground: #2a1f1b; --cut-line: #6e4332; --track: #262b30; --link: #76cdc1;
    --kept-ground: #16252a; --cut-mark: #6b3a26; --kept-mark: #1c5852;
    --patterns: #c6a3f0; --patterns-ground: #241d2e; --patterns-line: #56407a;
    --chunk: #86bdf0; --chunk-ground: #17222d; --chunk-line: #2f5478;
    --language: #dcc05c; --language-ground: #27230f; --language-line: #685a1e;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  overflow-wrap: anywhere;
}
main, .page-head, footer { max-width: 71rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem); }
.page-head { padding-top: clamp(2rem, 6vw, 4.5rem); }
h1, h2, h3, h4, p, ol, dl { margin: 0; }
h1 { font-size: clamp(1.9rem, 5.2vw, 3.3rem); line-height: 1.12; letter-spacing: -.025em; font-weight: 680;
  max-width: 22ch; text-wrap: balance; overflow-wrap: break-word; }
h1 em { font-style: normal; color: var(--cut); }
h2 { font-size: 1.4rem; letter-spacing: -.012em; line-height: 1.25; }
h3 { font-size: 1.1rem; line-height: 1.35; }
h4 { font-size: .78rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft); }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--kept); outline-offset: 2px; border-radius: 3px; }
.eyebrow { color: var(--soft); margin-bottom: .9rem; font-size: .95rem; }
.eyebrow strong { color: var(--ink); }
.meta, .lead, .more, .legend { color: var(--soft); }
.meta, .legend { font-size: .9rem; }
main > section { margin-top: clamp(2.75rem, 6vw, 4.25rem); }
.lead { margin: .35rem 0 1.4rem; max-width: 62ch; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.25rem, 1fr)); gap: 1.5rem 2rem;
  margin: clamp(1.75rem, 4vw, 2.75rem) 0; padding: 1.5rem 0; border-block: 1px solid var(--line); }
.numbers div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.numbers dt { color: var(--soft); font-size: .9rem; line-height: 1.4; }
.numbers dd { margin: 0; font-size: clamp(1.6rem, 3.6vw, 2.15rem); font-weight: 640; line-height: 1.2;
  letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
svg { display: block; }
.defs { position: absolute; }
.bar { border-radius: 3px; }
.track { fill: var(--track); }
rect.kept { fill: var(--kept); }
rect.removed { fill: url(#hatch); }
.hatch-ground { fill: var(--cut-ground); }
.hatch-line { fill: var(--cut); }
.legend { display: flex; gap: 1.25rem; margin: .9rem 0 0; }
.legend span { display: inline-flex; align-items: center; gap: .45rem; }
.chart { list-style: none; padding: 0; display: grid; gap: 1.05rem; }
.row { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; margin-bottom: .3rem; }
.name { font-weight: 600; }
.figures { color: var(--soft); font-size: .9rem; font-variant-numeric: tabular-nums; }
.figures strong { color: var(--ink); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { text-align: left; vertical-align: top; padding: .7rem 0 .7rem 1rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
thead th { font-size: .82rem; font-weight: 600; color: var(--soft); vertical-align: bottom; white-space: nowrap; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { display: block; font-weight: 400; color: var(--soft); font-size: .88rem; line-height: 1.45; }
td.idle, th.idle { color: var(--soft); font-weight: 400; }
h3 + table, h3 + .lead { margin-top: .4rem; }
table + h3, .more + h3, table + .more, .savings + table, .alarms + .savings { margin-top: 2rem; }
table + .more { margin-top: .8rem; font-size: .88rem; }
.wide td[data-label]::before { display: none; content: attr(data-label); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: .82rem; }
.quote { font-weight: 500; }
details > summary { cursor: pointer; color: var(--link); width: fit-content; }
.domains { margin-top: 1.75rem; }
.domains table { margin-top: .5rem; }
.sample, .change { margin-top: 2.5rem; }
.sample h3, .change h3 { margin-bottom: .15rem; }
.panes { display: grid; grid-template-columns: 1fr; gap: 1.25rem; margin-top: 1rem; }
.pane { min-width: 0; }
.pane h4 { margin-bottom: .45rem; }
.scroll { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.2rem;
  max-height: 34rem; overflow: auto; font-size: .92rem; line-height: 1.55; }
.scroll > p + p, .scroll > p + div, .scroll > div + p, .scroll > div + div { margin-top: .65rem; }
.cut { background: var(--cut-ground); border: 1px dashed var(--cut-line); border-left: 4px solid var(--cut);
  border-radius: 5px; padding: .5rem .8rem .6rem; }
.cut del { color: var(--soft); text-decoration: line-through; text-decoration-color: var(--cut-line); }
.cut p + p { margin-top: .15rem; }
.cut summary { font-size: .82rem; color: var(--cut); margin-top: .25rem; }
.by-patterns { --cut: var(--patterns); --cut-ground: var(--patterns-ground); --cut-line: var(--patterns-line);
  border-left-style: double; }
.by-chunk { --cut: var(--chunk); --cut-ground: var(--chunk-ground); --cut-line: var(--chunk-line); }
.by-language { --cut: var(--language); --cut-ground: var(--language-ground); --cut-line: var(--language-line);
  border-left-style: double; }
.cut .badge { color: var(--cut); border-color: var(--cut); }
.cut code { font-size: .95em; }
.cut .key { font-size: .78rem; color: var(--soft); text-decoration: none; }
.kinds { flex-wrap: wrap; margin: 0 0 1rem; }
.legend .cut { padding: .2rem .7rem; color: var(--cut); }
.of-page { font-size: clamp(1.6rem, 4vw, 2.4rem); max-width: 34ch; margin-bottom: .5rem; }
.summary { font-size: 1.15rem; margin-top: .8rem; font-weight: 560; }
.summary em { font-style: normal; color: var(--cut); }
.tall { max-height: 48rem; }
.chunks { list-style: none; padding: 0; display: grid; gap: .7rem; }
.chunks > li:not(.cut) { border: 1px solid var(--line); border-left: 4px solid var(--kept); border-radius: 5px;
  background: var(--panel); padding: .5rem .8rem .6rem; }
.decisions th { min-width: 6.5rem; }
.facts { display: grid; gap: .5rem; }
.facts div { display: grid; grid-template-columns: minmax(6rem, 9rem) 1fr; gap: 0 1rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; min-width: 0; }
.would { border: 1px dashed var(--cut); border-left: 4px double var(--cut); border-radius: 5px;
  padding: .5rem .8rem .6rem; }
.would summary { font-size: .82rem; color: var(--cut); margin-top: .25rem; }
.reason { color: var(--cut); font-size: .8rem; line-height: 1.4; font-weight: 560; margin-bottom: .25rem; }
.minus { font-weight: 700; }
.diff { padding: 0; margin-top: .7rem; }
.diff del, .diff ins { text-decoration: none; }
.diff mark { color: inherit; border-radius: 3px; padding: 0 .1em; }
.heads { display: none; }
.heads h4, .was, .now { padding: .5rem 1rem; min-width: 0; }
.hunk + .hunk, .heads + .hunk { border-top: 1px solid var(--line); }
.hunk p { position: relative; padding-left: 1.1rem; white-space: pre-wrap; }
.hunk p + p { margin-top: .2rem; }
.sign { position: absolute; left: 0; font-weight: 700; }
.was { background: var(--cut-ground); }
.was .sign { color: var(--cut); }
.was mark { background: var(--cut-mark); }
.now { background: var(--kept-ground); }
.now .sign { color: var(--kept); }
.now mark { background: var(--kept-mark); }
.hunk .none { display: none; }
.alarms { border: 1px solid var(--cut-line); border-left: 6px solid var(--cut); border-radius: 8px;
  background: var(--cut-ground); padding: 1.4rem clamp(1rem, 3vw, 1.75rem); }
.alarms ul, .rules, .examples { list-style: none; margin: 0; padding: 0; }
.alarms li + li { margin-top: .9rem; }
.alarms .lead, .alarms .meta { color: var(--ink); }
.cause { font-weight: 640; }
.site { margin-top: 2.25rem; }
.layout { margin-top: 1.1rem; padding-top: 1.1rem; border-top: 1px solid var(--line); }
.layout .meta { margin-top: .5rem; }
.layout .row { align-items: center; margin-bottom: .5rem; }
.layout .figures { display: inline-flex; align-items: end; gap: .8rem; }
.layout details { margin-top: .7rem; font-size: .9rem; }
.picture summary { width: auto; max-width: 100%; }
.picture .frame { display: block; margin-top: .5rem; border: 1px solid var(--line); border-radius: 8px;
  overflow: auto; background: #ffffff; color: #1d2125; }
.picture .frame svg { width: 16rem; max-width: 100%; height: 11rem; }
.picture[open] .frame svg, .shown .frame svg { width: 100%; min-width: 56rem; max-width: none; height: auto; }
.picture[open] summary { margin-bottom: 1rem; }
.kind { font-size: 1rem; letter-spacing: 0; text-transform: none; color: var(--ink); }
.kind code { font-weight: 400; color: var(--soft); }
.badge { font-size: .78rem; font-weight: 560; color: var(--soft); border: 1px solid var(--line); border-radius: 99px;
  padding: .08rem .55rem; }
.badge.live { color: var(--kept); border-color: var(--kept); }
.trend { flex: none; }
.examples { margin-top: .35rem; font-size: .9rem; }
.rules { display: grid; gap: .6rem; }
.rules li > .quote { display: block; font-size: .9rem; }
h5 { font-size: .82rem; margin: 0 0 .5rem; color: var(--soft); }
.rules + h5 { margin-top: 1.25rem; }
.shadowed { margin-top: 2rem; }
.shadowed .rules { margin-top: .75rem; }
.shadowed h4 { text-transform: none; letter-spacing: 0; font-size: 1rem; color: var(--ink); }
.shadowed .sample { margin-top: 1.5rem; }
.shadowed .scroll { margin-top: .7rem; }
pre { margin: 0; white-space: pre-wrap; font-size: .82rem; line-height: 1.6; tab-size: 2; }
footer { margin-top: 4.5rem; padding-top: 1.25rem; padding-bottom: 3rem; color: var(--soft); font-size: .88rem; }
@media (min-width: 56rem) {
  .panes, .hunk, .heads { display: grid; grid-template-columns: 1fr 1fr; }
  .heads { position: sticky; top: 0; background: var(--panel); border-bottom: 1px solid var(--line); }
  .hunk .none { display: block; background: none; }
}
@media (max-width: 34rem) {
  .wide thead { display: none; }
  .wide, .wide tbody, .wide tr, .wide th { display: block; }
  .wide tr { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: .7rem 0;
    border-bottom: 1px solid var(--line); }
  .wide tbody th { flex: 1 0 100%; border: 0; padding: 0; }
  .wide td { display: inline-flex; flex-direction: column-reverse; border: 0; padding: 0; text-align: left; }
  .wide td.none { display: none; }
  .wide td[data-label]::before { display: block; color: var(--soft); font-size: .74rem; }
  th, td { padding-left: .6rem; }
  table { font-size: .88rem; }
  .scroll { padding: .9rem; max-height: 28rem; }
  .scroll.diff { padding: 0; margin-top: .7rem; }
}
@media print {
  .scroll { max-height: none; }
}
"""
