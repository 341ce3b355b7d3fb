"""Style of the report on wide and narrow screens and on paper."""

CSS = """
:root { --ink: #222; --soft: #595959; --line: #ddd; --link: #1f5a96; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { font: 15px/1.42 system-ui, sans-serif; color: var(--ink); background: #fff; margin: 0 auto;
  padding: 0 24px 3em; max-width: 1400px; overflow-wrap: break-word; }
a { color: var(--link); }
nav { padding: 7px 0; border-bottom: 1px solid var(--line); font-size: 13px; }
nav a { margin-right: 1.3em; text-decoration: none; }
nav a:hover { text-decoration: underline; }
h1 { font-size: 1.4em; line-height: 1.2; margin: .55em 0 .1em; }
h2 { font-size: 1.3em; margin: 0 0 .3em; padding-top: 1.1em; border-top: 2px solid var(--ink); }
h3 { font-size: 1.05em; margin: 1.6em 0 .3em; }
section { margin-top: 2.4em; } #answer { margin-top: .4em; }
p { margin: .4em 0; max-width: 62em; }
#answer > p, .verdict { max-width: none; }
.verdict b { font-size: 1.1em; }
p.note, figcaption, li { color: var(--soft); font-size: 13px; }
p.note { max-width: 75em; }
.warning { border-left: 4px solid #b35900; padding-left: .6em; color: var(--ink); }
.lead { display: grid; grid-template-columns: minmax(0, 1fr) fit-content(60%); gap: 8px 24px;
  align-items: start; margin-top: .5em; }
figure { margin: .3em 0 0; }
.plot { position: relative; width: 100%; max-width: 780px; aspect-ratio: var(--ratio); }
.plot img { display: block; width: 100%; height: 100%; }
.plot i { position: absolute; width: 14px; height: 14px; margin: -7px 0 0 -7px; border-radius: 7px; }
.plot i:hover { outline: 1px solid var(--ink); }
summary { cursor: pointer; color: var(--link); font-size: 13px; }
.lead p.note { width: 0; min-width: 100%; }
.lead .plot { max-width: min(780px, calc(610px * var(--ratio))); }
figcaption p { margin: .3em 0; max-width: 75em; }
.files { font-size: 12px; } .files a { margin-right: .8em; }
.scroll { overflow-x: auto; margin-top: .3em; }
table { border-collapse: collapse; border-top: 2px solid var(--ink); border-bottom: 2px solid var(--ink);
  font-size: 13px; line-height: 1.3; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 9px; text-align: right; vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; border-bottom: 1px solid #999; }
th[colspan] { text-align: center; }
.text, td:first-child, th:first-child { text-align: left; }
td.text { overflow-wrap: anywhere; min-width: 4.5em; }
tbody tr + tr td { border-top: 1px solid #eee; } tbody tr.rule td { border-top: 1px solid var(--ink); }
small { display: block; color: var(--soft); font-size: .88em; }
.ranking td { white-space: nowrap; } .ranking td:first-child { white-space: normal; }
.wide table { font-size: 12px; } .wide th, .wide td { padding: 2px 5px; }
@media screen and (max-width: 1100px) {
  body { padding: 0 14px 2em; } .lead { grid-template-columns: minmax(0, 1fr); }
  .lead figure { order: 2; }
  th, td { padding: 2px 5px; } table { font-size: 12px; }
  .wide table, table:has(td:nth-child(9)) { font-size: 10.5px; }
  .wide th, .wide td, table:has(td:nth-child(9)) :is(th, td) { padding: 2px 3px; }
}
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  nav, .files { display: none; } a { color: inherit; text-decoration: none; }
  .scroll { overflow: visible; } thead { display: table-header-group; }
  table { font-size: 8pt; } .wide table { font-size: 6.5pt; } .wide th, .wide td { padding: 1px 3px; }
  tr, figure { break-inside: avoid; } h2, h3, h2 + p { break-after: avoid; }
  figure .plot { max-width: min(100%, calc(115mm * var(--ratio))); }
  details::details-content { content-visibility: visible; block-size: auto; }
  .lead { gap: 4px 14px; } p.note, figcaption, li { font-size: 8.5pt; }
  .experiment, #made { break-before: page; }
}
"""
