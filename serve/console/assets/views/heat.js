// Heat map: a collection's partitions over time, with the pattern seen and what to do.
import { html, useMemo, useState } from '../vendor/htm-preact.js';
import { clock, get, getHeat, num, percent, post, short } from '../api.js';
import { HeatMap, isPinned, scales } from '../heat.js';
import { live } from '../live.js';
import { Bar, Empty, Missing, Problem, Table } from '../parts.js';
import { go, link, useAsk, usePlace, visit } from '../state.js';
import { Apps, nameOf, Who } from '../who.js';

const metrics = [['ru', 'Request units'], ['reads', 'Reads'], ['writes', 'Writes'], ['refused', 'Refusals'], ['failed', 'Failures'], ['kib', 'Bytes'], ['latency', 'Latency']];

const none = [];

// sums adds up each row within a time, the fullest first.
export function sums(heat, brush) {
  const out = new Map();
  for (const r of heat.rows) {
    const begin = brush ? Math.ceil((brush[0] - heat.step + 1 - r.first) / heat.step) : 0, end = brush ? Math.ceil((brush[1] - r.first) / heat.step) : r.cells.length;
    let sum = 0, most = 0;
    for (let i = Math.max(0, begin); i < Math.min(end, r.cells.length); i++) {
      const v = heat.values[r.cells[i]];
      sum += v * heat.step;
      if (v > most) most = v;
    }
    const key = `${r.collection}/${r.partition}`, had = out.get(key);
    out.set(key, { ...r, sum: sum + (had?.sum ?? 0), most: Math.max(most, had?.most ?? 0) });
  }
  return [...out.values()].sort((a, b) => b.sum - a.sum);
}

// pinOf reads a partition, or a cell, from the address: 3, 3@1700000000, and with the number of the collection 12/3@1700000000.
function pinOf(extra) {
  const m = /^(?:(\d+)\/)?(\d+)(?:@(\d+))?$/.exec(extra);
  return m && { collection: m[1] ?? '', partition: m[2], second: Number(m[3] ?? 0) };
}

// windowOf is the time of the heat map: the range that ends now or, if the pinned cell or the selected time is older, one
// of the same length around it.
function windowOf(p, pin) {
  const now = live.times.at(-1) ?? Math.floor(Date.now() / 1000), about = p.brush ?? (pin?.second ? [pin.second, pin.second] : null);
  if (!about || about[0] > now - p.range) return { from: -p.range };
  return { from: -p.range, to: Math.min(now, Math.max(about[1], Math.round((about[0] + about[1] + p.range) / 2))) };
}

export default function Heat() {
  const p = usePlace(), pin = pinOf(p.extra), time = windowOf(p, pin);
  const [advice, setAdvice] = useState(null);
  const heat = useAsk(() => getHeat({ ns: p.ns, metric: p.metric, ...time }), [p.ns, p.metric, p.range, time.to], time.to ? 0 : p.range <= 900 ? 2 : 15);
  const events = useAsk(() => get('events', { ns: p.ns, ...time }), [p.ns, p.range, time.to], time.to ? 0 : 5);
  const parts = useAsk(() => (p.ns ? get('partitions', { ns: p.ns, top: 5 }) : { partitions: [] }), [p.ns], 5);
  const limits = useMemo(() => new Map((parts.data?.partitions ?? []).map((x) => [x.id, x.throughput ?? 0])), [parts.data]);
  const h = heat.data, list = useMemo(() => (h ? sums(h, p.brush) : []), [h, p.brush?.join()]);
  if (!h) return html`<${Problem} error=${heat.error}/>${!heat.error && html`<p class="loading">Loading…</p>`}`;
  const all = list.reduce((a, r) => a + r.sum, 0);
  const partOf = (row) => parts.data?.partitions?.find((x) => x.id === String(row.partition)), keysOf = (row) => partOf(row)?.hottestByRU;
  const callersOf = (row) => partOf(row)?.callers ?? none, shareOf = (row) => callersOf(row).filter((c) => nameOf(c) === p.app).reduce((a, c) => a + c.recentPercent, 0);
  const usedBy = (row) => !p.app || shareOf(row) > 0, shown = list.filter(usedBy);
  const mayScale = scales.filter(([name]) => name !== 'limit' || (p.metric === 'ru' && [...limits.values()].some(Boolean)));
  const scale = mayScale.some(([name]) => name === p.scale) ? p.scale : 'log';
  const isHot = (r) => h.pattern.kind === 'hot' && r.partition === h.pattern.partition && (!h.pattern.ns || h.pattern.ns === r.ns);
  const hot = list.find(isHot) ?? list[0], hotKeys = hot && keysOf(hot);
  const advise = async () => {
    setAdvice({ busy: true });
    try { setAdvice(await post('advise', { ns: p.ns })); } catch (error) { setAdvice({ error }); }
  };
  const chosen = pin && list.find((r) => isPinned(pin, r));
  const average = (r) => num(r.sum / (p.brush ? p.brush[1] - p.brush[0] : h.columns * h.step));
  return html`
    <div class="bar-of-controls" role="group" aria-label="Metric">
      ${metrics.map(([name, title]) => html`<button key=${name} aria-pressed=${p.metric === name} onClick=${() => visit({ metric: name })}>${title}</button>`)}
      <label>Colours <select value=${scale} onChange=${(e) => go({ scale: e.target.value })}>${mayScale.map(([name, title]) => html`<option key=${name} value=${name} selected=${name === scale}>${title}</option>`)}</select></label>
      <${Apps} parts=${parts.data?.partitions ?? none}/>
    </div>
    ${p.app && html`<p class="quiet" data-app>${shown.length} of ${list.length} ${list.length === 1 ? 'partition' : 'partitions'} ${shown.length === 1 ? 'has' : 'have'} recent load of ${p.app}. The others are pale.</p>`}
    <${Missing} of=${h.incomplete}/>
    <p class=${'pattern ' + h.pattern.kind}><b>${{ nothing: 'No load', one: 'One partition', even: 'Even', hot: 'Hot line', full: 'At the limit', ended: 'No load now', moving: 'Diagonal', waves: 'Waves' }[h.pattern.kind]}</b> ${!p.ns && h.pattern.ns && html`<b>${h.pattern.ns}</b> `}${h.pattern.text}
      ${h.pattern.kind === 'hot' && hotKeys?.[0]?.key && html` Its most expensive value is <code>${short(hotKeys[0].key)}</code>${hotKeys[0].callers?.length > 0 && html`, most of it by <${Who} of=${hotKeys[0].callers}/>`}.`}
      ${p.ns && h.pattern.kind !== 'nothing' && html` <a href=${link({ view: 'requests', extra: 'cause' })}>Which requests?</a> <button class="small" onClick=${advise}>Advise a shard key</button>`}</p>
    ${advice?.text && html`<pre class="text" tabindex="0">${advice.text}</pre>`}<${Problem} error=${advice?.error}/>
    ${h.rows.length === 0 ? html`<${Empty}>No load in this time range. Choose a longer one, or another collection.</${Empty}>`
      : html`<${HeatMap} heat=${h} events=${events.data ?? none} keysOf=${keysOf} callersOf=${callersOf} usedBy=${usedBy} app=${p.app} brush=${p.brush} scale=${scale} limits=${limits} onBrush=${(brush) => (brush && p.brush ? go : visit)({ brush })} pin=${pin} onPin=${(c) => visit({ extra: c ? `${p.ns ? '' : c.row.collection + '/'}${c.row.partition}@${c.second}` : '' })}/>`}
    ${list.length > 0 && html`<section><h2>${p.brush ? `From ${clock(p.brush[0])} to ${clock(p.brush[1])}` : 'In this time range'}</h2>
      <${Table} caption="Partitions by their share" rows=${shown} sort=${['share', -1]} max=${50} keyOf=${(r) => `${r.collection}/${r.partition}`} chosen=${chosen && `${chosen.collection}/${chosen.partition}`} columns=${[
        { name: 'partition', title: 'Partition', value: (r) => r.partition, show: (r) => html`${r.ns === p.ns ? '' : r.ns + ' · '}${r.partition}${r.until ? html` <span class="quiet">until ${clock(r.until)}</span>` : ''}` },
        { name: 'share', title: 'Share', right: true, value: (r) => r.sum, show: (r) => html`<${Bar} share=${all ? r.sum / all : 0} text=${percent(all ? (100 * r.sum) / all : 0)} hot=${isHot(r)}/>` },
        { name: 'average', title: 'Average', right: true, value: (r) => r.sum, show: average },
        { name: 'most', title: 'Peak', right: true, value: (r) => r.most, show: (r) => num(r.most) },
        ...(shown.some((r) => callersOf(r).length) ? [{ name: 'who', title: p.app ? `Recent share of ${p.app}` : 'Most recent RU by', value: (r) => (p.app ? shareOf(r) : callersOf(r)[0] ? nameOf(callersOf(r)[0]) : ''), show: (r) => (p.app ? percent(shareOf(r)) : html`<${Who} of=${callersOf(r)}/>`) }] : []),
        { name: 'keys', title: 'Most expensive values now', value: (r) => keysOf(r)?.[0]?.ru ?? 0, show: (r) => (keysOf(r) ?? []).filter((k) => k.key).slice(0, 3).map((k) => html`<code key=${short(k.key)}>${short(k.key)}</code> `) },
      ]}/></section>`}`;
}
