// What if: recorded traffic against another throughput or shard key, the keys there could be,
// and what a workload would cost that there is not yet.
import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { count, get, num, percent, post, short } from '../api.js';
import { Chart } from '../chart.js';
import { Bar, Empty, Problem } from '../parts.js';
import { go, timeWindow, useAsk, usePlace } from '../state.js';

// price is Azure's list price of 100 RU/s for an hour, in dollars; autoscale is half as dear again.
const price = 0.008;

// monthly is what a month would cost that goes on like the time that was replayed.
const monthly = (d, ruHours) => (ruHours / 100) * price * (730 * 3600) / (d.columns * d.step);

export default function WhatIf() {
  const p = usePlace();
  const [tab, setTab] = useState(/^(advise|key)/.test(p.extra) ? 'advise' : 'replay');
  return html`<div role="tablist" class="tabs">${[['replay', 'Another throughput'], ['advise', 'Another shard key'], ['estimate', 'A new workload']].map(([k, t]) => html`<button role="tab" key=${k} id=${'tab-' + k} aria-selected=${tab === k} onClick=${() => setTab(k)}>${t}</button>`)}</div>
    <div role="tabpanel" aria-labelledby=${'tab-' + tab}>${tab === 'replay' ? html`<${Replay}/>` : tab === 'advise' ? html`<${OtherKey}/>` : html`<${Estimate}/>`}</div>`;
}

// differ reports whether the lower end of a range of results is more than 5 % below its upper end. range shows both ends
// if they differ, otherwise the upper end.
const differ = (from, to) => from < 0.95 * to;
const range = (from, to, show) => (differ(from, to) && show(from) !== show(to) ? `${show(from)} – ${show(to)}` : show(to));

function Replay() {
  const p = usePlace();
  const [ru, setRU] = useState(Number(p.extra.split(':')[1]) || 4000), [parts, setParts] = useState(0), [state, set] = useState({});
  useEffect(() => {
    if (!p.ns) return;
    const timer = setTimeout(() => post('replay', { ns: p.ns, ru, partitions: parts, ...timeWindow(p) }).then((data) => set({ data }), (error) => set({ error })), 120);
    return () => clearTimeout(timer);
  }, [p.ns, p.range, p.brush?.join(), ru, parts]);
  if (!p.ns) return html`<${Empty}>Choose a collection above.</${Empty}>`;
  const d = state.data;
  return html`
    <p class="quiet">Replays the recorded traffic of ${p.ns} in the selected time range against another throughput. Refused requests count as demand, at the cost of served ones of the same shape and value.</p>
    <div class="sliders">
      <label>Provisioned <output>${num(ru)} RU/s</output><input type="range" min="2" max="6" step="0.01" value=${Math.log10(ru)} onInput=${(e) => setRU(Math.max(100, Math.round(10 ** e.target.value / 100) * 100))} aria-valuetext=${`${ru} RU/s`} data-ru/></label>
      <label>Partitions <output>${parts || 'as recorded'}</output><input type="range" min="0" max="64" value=${parts} onInput=${(e) => setParts(Number(e.target.value))} aria-valuetext=${parts || 'as recorded'}/></label></div>
    <${Problem} error=${state.error}/>
    ${d && html`<section class="numbers" aria-label="Result">
        <div class=${d.refused > 0 ? 'bad' : ''}><b data-refused>${range(100 * d.refusedLeast, 100 * d.refused, percent)}</b><span>of the RU refused, in ${num(d.refusedColumns)} of ${num(d.columns)} time steps</span></div>
        <div><b data-enough>${range(d.enoughLeast, d.enough, num)}</b><span>RU/s needed to refuse nothing</span></div>
        <div class=${isHot(d) ? 'bad' : ''}><b>${num(d.balance)}×</b><span>the average load, on the busiest of ${count(d.partitions, 'partition')}</span></div>
        <div><b>$${num(monthly(d, d.manualRUHours))}</b><span>per month, manual</span></div>
        <div><b>$${num(1.5 * monthly(d, d.autoscaleRUHours))}</b><span>per month at this load, autoscale</span></div></section>
      <${Chart} title="RU/s requested and served" height=${220} times=${d.demand.map((_, i) => d.from + i * d.step)} series=${[
        { label: 'requested', colour: '--bad', values: d.demand }, { label: 'served', colour: '--c1', fill: '--c1-soft', values: d.served }, { label: 'provisioned', colour: '--quiet', dash: [5, 4], values: d.demand.map(() => d.ru) }]}/>
      ${d.partitionMax > 0 && d.peak > d.partitionMax && html`<p class="problem" data-partition-max>The busiest partition would need ${num(d.peak)} RU/s, and one partition has at most ${num(d.partitionMax)}: no throughput suffices until it is split, or another shard key divides its load.</p>`}
      ${differ(d.enoughLeast, d.enough) && html`<p class="quiet" data-uncertain>The ranges are due to refused requests that came again unchanged within a minute. From: they are retries of one request. To: each is a request of its own; the chart shows this case.</p>`}
      <p class="quiet">Prices are Azure's list prices for one region: $${price} per 100 RU/s and hour; autoscale costs 1.5 times as much.${!d.recorded ? ' The load of each recorded partition is assumed to be spread evenly within it.' : ''}</p>`}`;
}

// keyOf reads a shard key as people write it: tenant, order; or a document.
const keyOf = (text) => (text.trim().startsWith('{') ? text : Object.fromEntries(text.split(',').map((f) => f.trim()).filter(Boolean).map((f) => [f, 'hashed'])));

// OtherKey replays the recorded statements with another shard key, and compares the result with the present key.
function OtherKey() {
  const p = usePlace();
  const key = p.extra.startsWith('key:') ? p.extra.slice(4) : '', setKey = (text) => go({ extra: text ? `key:${text}` : 'advise' });
  const [typed, type] = useState(key), [ru, setRU] = useState(null), [parts, setParts] = useState(0), [state, set] = useState({});
  const fields = useAsk(() => (p.ns ? get('recorded', { ns: p.ns }) : null), [p.ns], 15);
  const catalogue = useAsk(() => get('collections'), [p.ns]);
  const now = catalogue.data?.collections.find((c) => c.ns === p.ns), given = ru ?? (now?.ru || 4000);
  const shown = useRef(p.ns);
  useEffect(() => { if (shown.current !== p.ns) { shown.current = p.ns; type(''); set({}); } }, [p.ns]);
  useEffect(() => {
    if (!p.ns || !key || !catalogue.data) return undefined;
    const time = p.brush ? timeWindow(p) : { from: -Math.min(p.range, 3600) };
    const timer = setTimeout(async () => {
      try {
        const [was, then] = await Promise.all([post('replay', { ns: p.ns, ru: given, ...time }), post('replay', { ns: p.ns, ru: given, partitions: parts, shardKey: keyOf(key), ...time })]);
        set({ was, then });
      } catch (error) { set({ error }); }
    }, 120);
    return () => clearTimeout(timer);
  }, [p.ns, p.range, p.brush?.join(), key, given, parts, !!catalogue.data]);
  if (!p.ns) return html`<${Empty}>Choose a collection above.</${Empty}>`;
  const choose = (text) => { type(text); setKey(text); };
  const list = (fields.data?.fields ?? []).filter((f) => f.fixed > 0.005).slice(0, 8);
  return html`
    <p class="quiet">Replays the requests to ${p.ns} in the last hour against another shard key. Nothing is changed.</p>
    <form class="another" onSubmit=${(e) => { e.preventDefault(); setKey(typed.trim()); }}>
      <label>Shard key <input value=${typed} placeholder="tenant, order" size="28" spellcheck=${false} onInput=${(e) => type(e.target.value)} data-key/></label>
      <button class="primary" data-replay>Replay</button>
      ${list.length > 0 && html`<span class="chips" role="group" aria-label="Fields that requests filter by">${list.map((f) => html`<button type="button" class="small" key=${f.path} aria-pressed=${key === f.path} onClick=${() => choose(f.path)} title=${`${count(f.values, 'value')} in the sample; the busiest has ${percent(100 * f.largest)} of the RU of these requests`}>${f.path} <span class="quiet">${percent(100 * f.fixed)}</span></button>`)}</span>`}
    </form>
    ${fields.data && list.length === 0 && html`<${Empty}>No requests on ${p.ns} are recorded. The server keeps a sample of each minute in memory for one hour.</${Empty}>`}
    ${list.length > 0 && html`<p class="quiet">The percentage is the share of the RU spent by requests that specify the field, in a filter or a document. Several fields make a hierarchical key; <code>{tenant: "hashed", _id: {buckets: 16}}</code> is a key with a suffix.</p>`}
    <${Problem} error=${state.error ?? fields.error}/>
    ${state.then && html`<${Compared} ...${state} ru=${given} setRU=${setRU} parts=${parts} setParts=${setParts}/>`}
    <h2>Other shard keys</h2><${Advise}/>`;
}

// isHot reports whether a replay has a hot partition, by the server's rule, or one that moves along the key.
const isHot = (d) => ['hot', 'moving'].includes(d.verdict.kind);

// Compared shows both side by side.
function Compared({ was, then, ru, setRU, parts, setParts }) {
  const k = then.key, name = short(k.shardKey);
  const row = (title, value, better) => {
    const [a, b] = [was, then].map(value);
    return html`<tr><th scope="row">${title}</th><td class="right">${better.show(a)}</td><td class=${'right ' + (better.bad?.(b) ? 'bad' : '')}>${better.show(b)}</td></tr>`;
  };
  const hot = isHot(then);
  const most = Math.max(...k.shares), even = 1 / k.shares.length, heavy = k.values.filter((v) => v.share > 0.02).slice(0, 3);
  return html`
    <p class=${'pattern ' + (hot ? 'hot' : '')} data-verdict><b>${hot ? 'A hot partition' : then.balance < was.balance * 0.9 ? 'More even' : 'Not more even'}</b> With <code>${name}</code> the busiest of ${count(then.partitions, 'partition')} would have ${num(then.balance)} times the average load; now it has ${num(was.balance)} times.
      ${k.cost > 1.05 ? ` Requests would cost ${num(k.cost)} times as much, because they would visit more partitions.` : k.cost < 0.95 ? ` Requests would cost ${percent(100 * (1 - k.cost))} less.` : ' Requests would cost the same.'}
      ${heavy.length > 0 && html` Busiest values: ${heavy.map((v) => html`<code>${v.value ? `{${Object.entries(v.value).map(([f, x]) => `${f}: ${x}`).join(', ')}}` : 'a value'} <b>${percent(100 * v.share)}</b></code> `)}`}</p>
    <div class="sliders">
      <label>Provisioned <output>${num(ru)} RU/s</output><input type="range" min="2" max="6" step="0.01" value=${Math.log10(ru)} onInput=${(e) => setRU(Math.max(100, Math.round(10 ** e.target.value / 100) * 100))} aria-valuetext=${`${ru} RU/s`} data-ru/></label>
      <label>Partitions <output>${parts || 'as now'}</output><input type="range" min="0" max="64" value=${parts} onInput=${(e) => setParts(Number(e.target.value))} aria-valuetext=${parts || 'as now'}/></label></div>
    <div class="columns"><section><div class="scroll"><table class="versus"><caption class="hidden">The current shard key and another one</caption>
      <thead><tr><th scope="col"><span class="hidden">Measure</span></th><th scope="col" class="right">Now</th><th scope="col" class="right"><code>${name}</code></th></tr></thead><tbody>
        ${row('Refused at this throughput', (d) => [d.refusedLeast, d.refused], { show: ([a, b]) => html`<b data-refused>${range(100 * a, 100 * b, percent)}</b>`, bad: ([, b]) => b > 0 })}
        ${row('RU/s needed to refuse nothing', (d) => [d.enoughLeast, d.enough], { show: ([a, b]) => `${range(a, b, num)} RU/s` })}
        ${row('Busiest partition, compared with the average', (d) => d.balance, { show: (v) => `${num(v)}×`, bad: () => hot })}
        ${row('Cost of the same requests', (d) => d.key?.cost ?? 1, { show: (v) => percent(100 * v), bad: (v) => v > 1.5 })}
        ${row('Per month, nothing refused', (d) => [d.enoughLeast, d.enough], { show: ([a, b]) => range(a, b, (v) => `$${num((v / 100) * price * 730)}`) })}
        ${row('Per month at this load, autoscale', (d) => 1.5 * monthly(d, d.autoscaleRUHours), { show: (v) => `$${num(v)}` })}</tbody></table></div></section>
    <section><h3>Load by partition</h3><div class="spread" role="img" aria-label=${`Load by partition: the busiest of ${k.shares.length} has ${percent(100 * most)}, an even share would be ${percent(100 * even)}`}>${k.shares.map((s, i) => html`<${Column} key=${i} share=${s / Math.max(most, 1e-9)} hot=${hot && i === then.verdict.partition}/>`)}</div>
      <p class="quiet">${count(k.shares.length, 'partition')}; the busiest has ${percent(100 * most)} of the RU.</p>
      <div class="goes"><${Bar} share=${k.goTo.one} text=${`${percent(100 * k.goTo.one)} of the RU go to one partition`}/> <${Bar} share=${k.goTo.some} text=${`${percent(100 * k.goTo.some)} to some of them`}/> <${Bar} share=${k.goTo.all + k.goTo.unknown} text=${`${percent(100 * (k.goTo.all + k.goTo.unknown))} to all of them`} hot=${k.goTo.all > 0.2}/></div></section></div>
    <${Chart} title="RU/s requested from the busiest partition" height=${180} times=${then.busiest.map((_, i) => then.from + i * then.step)} series=${[
      { label: 'now', colour: '--quiet', values: was.busiest.slice(-then.busiest.length) }, { label: 'other key', colour: '--c1', fill: '--c1-soft', values: then.busiest },
      { label: 'its share', colour: '--bad', dash: [5, 4], values: then.busiest.map(() => then.ru / then.partitions) }]}/>
    <details open class="how"><summary>Method and limits</summary><ul>${k.notes.map((n) => html`<li key=${n}>${n}</li>`)}</ul></details>`;
}

// Column is one partition's part of the work.
function Column({ share, hot }) {
  const ref = useRef(null);
  useEffect(() => { ref.current.style.height = `${Math.max(1, 100 * share)}%`; });
  return html`<i ref=${ref} class=${hot ? 'hot' : ''}></i>`;
}

function Advise() {
  const p = usePlace();
  const [state, set] = useState({});
  const run = async () => { set({ busy: true }); try { set(await post('advise', { ns: p.ns })); } catch (error) { set({ error }); } };
  return html`<p class="quiet">Ranks candidate shard keys of ${p.ns} by a sample of its documents, read at low priority, and by the counted requests. Nothing is changed.</p>
    <div class="actions"><button disabled=${state.busy} onClick=${run} data-advise>${state.busy ? 'Ranking…' : 'Rank shard keys'}</button></div>
    <${Problem} error=${state.error}/>${state.text && html`<pre class="text" tabindex="0">${state.text}</pre>`}`;
}

function Estimate() {
  const [f, setF] = useState({ document: '{device: "d-17", at: 5, reading: 21.5}', key: 'device', index: '{device: 1, at: -1}', inserts: 1000, reads: 400, queries: 0, 'fan-outs': 0, updates: 0, deletes: 0, documents: 50000000 });
  const [state, set] = useState({});
  const run = async (e) => {
    e.preventDefault();
    const args = [];
    if (f.key) args.push('--shard-key', f.key);
    if (f.index) args.push('--index', f.index);
    for (const k of ['inserts', 'reads', 'queries', 'fan-outs', 'updates', 'deletes', 'documents']) if (Number(f[k]) > 0) args.push(`--${k}`, String(f[k]));
    try { set(await post('estimate', { document: f.document, args })); } catch (error) { set({ error }); }
  };
  const field = (name, title, type = 'number') => html`<label class="field">${title}<input type=${type} min="0" value=${f[name]} onInput=${(e) => setF({ ...f, [name]: e.target.value })}/></label>`;
  return html`<form class="estimate" onSubmit=${run}>
      <label class="field wide">A typical document<textarea rows="3" spellcheck=${false} value=${f.document} onInput=${(e) => setF({ ...f, document: e.target.value })}></textarea></label>
      ${field('key', 'Shard key', 'text')}${field('index', 'Index', 'text')}${field('documents', 'Documents')}
      ${field('inserts', 'Inserts/s')}${field('reads', 'Reads by key/s')}${field('queries', 'Queries/s, one partition')}${field('fan-outs', 'Queries/s, all partitions')}${field('updates', 'Updates/s')}${field('deletes', 'Deletes/s')}
      <button class="primary" data-estimate>Estimate</button></form>
    <${Problem} error=${state.error}/>${state.text && html`<pre class="text" tabindex="0">${state.text}</pre>`}`;
}
