// Partitions: what each holds and what its throughput is spent on, and what can be done.
import { html, useState } from '../vendor/htm-preact.js';
import { bytes, count, get, getHeat, num, percent, post, short } from '../api.js';
import { Bar, Confirm, Empty, Missing, Problem, Refused, Table } from '../parts.js';
import { link, timeWindow, useAsk, usePlace } from '../state.js';
import { sums } from './heat.js';
import { Shares, Who } from '../who.js';

export default function Partitions() {
  const p = usePlace();
  const [asked, ask] = useState(null), [open, setOpen] = useState(p.extra || null), [ru, setRU] = useState('');
  const { data, error, again } = useAsk(() => (p.ns ? get('partitions', { ns: p.ns, top: 10 }) : null), [p.ns], 2);
  const heat = useAsk(() => (p.ns ? getHeat({ ns: p.ns, metric: 'ru', ...timeWindow(p) }) : null), [p.ns, p.range, p.brush?.join()], 5);
  if (!p.ns) return html`<${Empty}>Choose a collection above.</${Empty}>`;
  if (!data) return html`<${Problem} error=${error}/>`;
  const used = heat.data ? sums(heat.data, p.brush) : [], all = used.reduce((a, r) => a + r.sum, 0);
  const shareOf = (x) => (all ? (used.find((r) => String(r.partition) === x.id)?.sum ?? 0) / all : 0);
  const most = Math.max(1, ...data.partitions.map((x) => x.bytes));
  const sharded = !!data.shardKeyDefinition;
  const chosen = data.partitions.find((x) => x.id === open);
  const act = (kind, text, action) => ask({ kind, text, action });
  const mergePreview = async () => {
    try {
      const plan = await post('partitions/merge', { ns: p.ns, whatIf: true });
      act('Merge cold neighbours', html`<p>${count(plan.before, 'partition')} would become <b>${plan.after}</b>.</p>${plan.after === plan.before ? html`<p>No neighbouring partitions are cold and small enough to merge.</p>` : html`<ul>${plan.merges.map((m) => html`<li key=${m.join()}>${m.join(' and ')}</li>`)}</ul>`}`, () => post('partitions/merge', { ns: p.ns }));
    } catch (e) { act('Merge cold neighbours', html`<${Problem} error=${e}/>`, async () => {}); }
  };
  const scale = () => {
    const n = Number(ru);
    act(`Scale to ${num(n)} RU/s`, html`<p>${p.ns} gets ${num(n)} RU/s (manual). Each of its ${count(data.partitions.length, 'partition')} gets ${num(n / data.partitions.length)} of them.</p><p class="quiet"><a href=${link({ view: 'whatif', extra: `replay:${n}` })}>What if</a> shows what would have been refused at this throughput.</p>`, () => post('throughput', { ns: p.ns, manual: n }));
  };
  return html`
    <${Problem} error=${error}/>
    <${Missing} of=${data.incomplete}/>
    ${['hot', 'full'].includes(data.load?.kind) && html`<p class=${'pattern ' + data.load.kind} data-load><b>Last minute</b> ${data.load.text}</p>`}
    ${(data.warnings ?? []).map((w) => html`<p class="problem" key=${w}>${w}</p>`)}
    <div class="bar-of-controls">
      <span class="quiet">Shard key <code>${sharded ? short(data.shardKeyDefinition) : 'none'}</code> · partition map ${data.mapVersion}</span>
      <span class="grow"></span>
      <form onSubmit=${(e) => { e.preventDefault(); if (Number(ru) > 0) scale(); }}><label>RU/s <input type="number" min="400" step="100" value=${ru} onInput=${(e) => setRU(e.target.value)} size="7"/></label><button>Scale…</button></form>
      <button disabled=${!sharded || data.partitions.length < 2} onClick=${() => act('Distribute throughput evenly', html`<p>All ${data.partitions.length} partitions get the same share of the RU/s; earlier redistribution is undone.</p>`, () => post('partitions/redistribute', { ns: p.ns, equal: true }))}>Distribute evenly…</button>
      <button disabled=${!sharded || data.partitions.length < 2} onClick=${mergePreview}>Merge…</button>
    </div>
    <${Table} caption=${`Partitions of ${p.ns}`} rows=${data.partitions} sort=${['share', -1]} keyOf=${(x) => x.id} chosen=${open} onRow=${(x) => setOpen(open === x.id ? null : x.id)} columns=${[
      { name: 'id', title: 'Partition', value: (x) => Number(x.id), show: (x) => x.id },
      { name: 'share', title: p.brush ? 'Share of RU, selected' : 'Share of RU', right: true, value: shareOf, show: (x) => html`<${Bar} share=${shareOf(x)} text=${percent(100 * shareOf(x))} hot=${data.load?.kind === 'hot' && String(data.load.partition) === x.id}/>` },
      { name: 'throttled', title: 'Refused last minute', right: true, value: (x) => x.throttledLastMinute, show: (x) => html`<${Refused} n=${x.throttledLastMinute}/>` },
      { name: 'now', title: 'RU/s now', right: true, value: (x) => x.ruLastSecond, show: (x) => num(x.ruLastSecond) },
      { name: 'minute', title: 'RU last minute', right: true, value: (x) => x.ruLastMinute, show: (x) => num(x.ruLastMinute) },
      { name: 'throughput', title: 'Provisioned RU/s', right: true, value: (x) => x.throughput ?? 0, show: (x) => (x.throughput ? num(x.throughput) : '∞') },
      { name: 'normalized', title: 'Peak, % of RU/s', right: true, value: (x) => x.normalizedPercent, show: (x) => (x.throughput ? percent(x.normalizedPercent) : '–') },
      { name: 'waiting', title: 'Waiting', right: true, value: (x) => x.waiting, show: (x) => x.waiting },
      { name: 'range', title: 'From', value: (x) => (x.min ? short(x.min) : ''), show: (x) => html`<span class="mono">${x.min ? short(x.min) : sharded ? '–' : 'all'}</span>` },
      { name: 'documents', title: 'Documents', right: true, value: (x) => x.documents, show: (x) => num(x.documents) },
      { name: 'bytes', title: 'Size', right: true, value: (x) => x.bytes, show: (x) => html`<${Bar} share=${x.bytes / most} text=${bytes(x.bytes)}/>` },
    ]}/>
    ${chosen && html`<section class="detail" aria-label=${`Partition ${chosen.id}`}><header><h2>Partition ${chosen.id}</h2><span class="grow"></span>
        <button disabled=${!sharded} onClick=${() => act(`Split partition ${chosen.id}`, html`<p>Partition ${chosen.id} with ${count(chosen.documents, 'document')} (${bytes(chosen.bytes)}) becomes two partitions with half of its range each. No documents are moved.${chosen.throughput ? html` Each gets ${num(chosen.throughput / 2)} RU/s at first.` : ''}</p>`, () => post('partitions/split', { ns: p.ns, id: chosen.id }))}>Split…</button></header>
      <p class="mono">${chosen.min ? `${short(chosen.min)} … ${short(chosen.max)}` : sharded ? '' : 'the whole collection'}</p>
      <p><${Shares} of=${chosen.callers}/></p>
      <div class="columns"><${Keys} title="Most expensive values" list=${chosen.hottestByRU} of="ru" show=${(v) => `${num(v)} RU`}/><${Keys} title="Largest values" list=${chosen.hottestByBytes} of="bytes" show=${bytes}/></div></section>`}
    ${asked && html`<${Confirm} title=${asked.kind} action=${asked.action} onDone=${again} onClose=${() => ask(null)}>${asked.text}</${Confirm}>`}`;
}

function Keys({ title, list = [], of, show }) {
  const p = usePlace();
  const most = Math.max(1e-9, ...list.map((k) => k[of]));
  return html`<section><h3>${title}</h3>${list.length === 0 ? html`<${Empty}>None yet.</${Empty}>` : html`<ol class="hot">${list.map((k, i) => html`<li key=${i}>${k.key ? html`<a href=${link({ view: 'collections', extra: `find:${short(k.key)}` })}><code>${short(k.key)}</code></a>` : html`<span class="quiet">a value</span>`}<${Who} of=${k.callers}/><${Bar} share=${k[of] / most} text=${show(k[of])}/></li>`)}</ol>`}</section>`;
}
