// What if: recorded traffic against another throughput, the shard keys there could be, and
// what a workload would cost that there is not yet.
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { num, percent, post } from '../api.js';
import { Chart } from '../chart.js';
import { Empty, Problem } from '../parts.js';
import { timeWindow, usePlace } from '../state.js';

// price is Azure's list price of 100 RU/s for an hour, in dollars; autoscale is half as dear again.
const price = 0.008;

// monthly is what a month would cost that goes on like the time that was replayed.
const monthly = (d, ruHours) => (ruHours / 100) * price * (730 * 3600) / (d.columns * d.step);

export default function WhatIf() {
  const p = usePlace();
  const [tab, setTab] = useState(p.extra === 'advise' ? 'advise' : 'replay');
  return html`<div role="tablist" class="tabs">${[['replay', 'Another throughput'], ['advise', 'Another shard key'], ['estimate', 'A new workload']].map(([k, t]) => html`<button role="tab" key=${k} id=${'tab-' + k} aria-selected=${tab === k} onClick=${() => setTab(k)}>${t}</button>`)}</div>
    <div role="tabpanel" aria-labelledby=${'tab-' + tab}>${tab === 'replay' ? html`<${Replay}/>` : tab === 'advise' ? html`<${Advise}/>` : html`<${Estimate}/>`}</div>`;
}

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
    <p class="quiet">The traffic that was recorded of ${p.ns} in the time chosen above, met by another throughput. Refused requests are taken to come again once, at the price of the others.</p>
    <div class="sliders">
      <label>Provisioned <output>${num(ru)} RU/s</output><input type="range" min="2" max="6" step="0.01" value=${Math.log10(ru)} onInput=${(e) => setRU(Math.max(100, Math.round(10 ** e.target.value / 100) * 100))} aria-valuetext=${`${ru} RU/s`} data-ru/></label>
      <label>Partitions <output>${parts || 'as recorded'}</output><input type="range" min="0" max="64" value=${parts} onInput=${(e) => setParts(Number(e.target.value))} aria-valuetext=${parts || 'as recorded'}/></label></div>
    <${Problem} error=${state.error}/>
    ${d && html`<section class="numbers" aria-label="What would happen">
        <div class=${d.refused > 0 ? 'bad' : ''}><b data-refused>${percent(100 * d.refused)}</b><span>of the work refused, in ${num(d.refusedColumns)} of ${num(d.columns)} steps</span></div>
        <div><b>${num(d.enough)}</b><span>RU/s would refuse nothing</span></div>
        <div class=${d.balance > 2 ? 'bad' : ''}><b>${num(d.balance)}×</b><span>the busiest of ${d.partitions}, compared with the average</span></div>
        <div><b>$${num(monthly(d, d.manualRUHours))}</b><span>a month, manual</span></div>
        <div><b>$${num(1.5 * monthly(d, d.autoscaleRUHours))}</b><span>a month like this, autoscale</span></div></section>
      <${Chart} title="RU/s asked for and served" height=${220} times=${d.demand.map((_, i) => d.from + i * d.step)} series=${[
        { label: 'asked for', colour: '--bad', values: d.demand }, { label: 'served', colour: '--c1', fill: '--c1-soft', values: d.served }, { label: 'provisioned', colour: '--quiet', dash: [5, 4], values: d.demand.map(() => d.ru) }]}/>
      <p class="quiet">Prices are Azure's list prices of one region: $${price} for 100 RU/s and hour, autoscale half as much again.${!d.recorded ? ' Within a partition that there was, the work is taken to be even.' : ''}</p>`}`;
}

function Advise() {
  const p = usePlace();
  const [state, set] = useState({});
  if (!p.ns) return html`<${Empty}>Choose a collection above.</${Empty}>`;
  const run = async () => { set({ busy: true }); try { set(await post('advise', { ns: p.ns })); } catch (error) { set({ error }); } };
  return html`<p class="quiet">Looks at documents of ${p.ns} at low priority, and at the requests that were counted, and ranks the shard keys it could have. Nothing is changed.</p>
    <div class="actions"><button class="primary" disabled=${state.busy} onClick=${run} data-advise>${state.busy ? 'Looking…' : 'Rank shard keys'}</button></div>
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
