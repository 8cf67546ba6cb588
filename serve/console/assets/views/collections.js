// Collections: the catalogue; of one collection its indexes, and its documents.
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { bytes, get, num, post, short } from '../api.js';
import { Confirm, Empty, Problem, Table } from '../parts.js';
import { link, useAsk, usePlace } from '../state.js';
import { Plan } from './requests.js';

const system = (c) => ['admin', 'config', 'local'].includes(c.db) || c.name.startsWith('system.');

// Disk shows the sizes on the disk of the server that answered.
function Disk({ of }) {
  return html`<section class="numbers" aria-label="Disk usage">
    <div><b data-number="disk">${bytes(of.diskBytes)}</b><span>database files</span></div>
    <div><b data-number="change-log">${bytes(of.changeLogBytes)}</b><span>of which change log</span></div>
    <div><b data-number="kept-log">${bytes(of.keptLogBytes)}</b><span>logs kept for the next backup</span></div>
    <div class=${of.refusesWrites ? 'bad' : ''}><b data-number="free">${bytes(of.diskFreeBytes)}</b><span>free of ${bytes(of.diskTotalBytes)}; ${bytes(of.diskReserveBytes)} must stay free</span></div>
  </section>`;
}

export default function Collections({ about, list, disk }) {
  const p = usePlace();
  const [all, setAll] = useState(false);
  if (p.ns) return html`<${One} about=${about} ns=${p.ns} key=${p.ns}/>`;
  const rows = (list ?? []).filter((c) => all || !system(c));
  return html`
    ${disk?.diskTotalBytes > 0 && html`<${Disk} of=${disk}/>`}
    <div class="bar-of-controls"><label><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)}/> show system collections</label></div>
    ${rows.length === 0 ? html`<${Empty}>No collections that you have access to.</${Empty}>` : html`<${Table} caption="Collections" rows=${rows} sort=${['ns', 1]} keyOf=${(c) => c.ns} onRow=${(c) => { location.hash = link({ view: 'collections', ns: c.ns }); }} columns=${[
      { name: 'ns', title: 'Collection', value: (c) => c.ns },
      { name: 'kind', title: 'Kind', value: (c) => c.kind },
      { name: 'key', title: 'Shard key', value: (c) => (c.key ? short(c.key) : ''), show: (c) => html`<code>${c.key ? short(c.key) : '–'}</code>` },
      { name: 'partitions', title: 'Partitions', right: true, value: (c) => c.partitions },
      { name: 'ru', title: 'Throughput', right: true, value: (c) => c.ru, show: (c) => (c.ru ? `${num(c.ru)} RU/s ${c.mode}` : c.mode === 'none' ? 'no limit' : c.mode) },
      { name: 'documents', title: 'Documents', right: true, value: (c) => c.documents ?? -1, show: (c) => num(c.documents) },
      { name: 'bytes', title: 'Size', right: true, value: (c) => c.bytes ?? -1, show: (c) => bytes(c.bytes) },
      { name: 'disk', title: 'On disk', right: true, value: (c) => c.diskBytes ?? -1, show: (c) => bytes(c.diskBytes) },
      { name: 'indexes', title: 'Indexes', right: true, value: (c) => c.indexes },
      { name: 'indexDisk', title: 'Indexes on disk', right: true, value: (c) => c.indexDiskBytes ?? -1, show: (c) => bytes(c.indexDiskBytes) },
    ]}/>`}`;
}

function One({ about, ns }) {
  const { data, error, again } = useAsk(() => get('collection', { ns }), [ns], 10);
  const [tab, setTab] = useState('documents');
  const uses = (name) => (data?.uses ?? []).filter((u) => u.name === name).reduce((a, u) => a + Number(u.accesses?.ops?.$numberLong ?? u.accesses?.ops ?? 0), 0);
  const size = (name) => data?.indexDisk?.[name];
  return html`
    <div class="bar-of-controls"><a href=${link({ ns: '' })}>← All collections</a><span class="grow"></span>
      ${data && html`<span class="quiet">${data.key ? html`sharded by <code>${short(data.key)}</code>, ${data.partitions} partitions` : 'not sharded'} · ${num(data.documents)} documents · ${bytes(data.bytes)}${data.diskBytes !== undefined ? `, on disk ${bytes(data.diskBytes)} and indexes ${bytes(data.indexDiskBytes)}` : ''} · ${data.ru ? `${num(data.ru)} RU/s ${data.mode}` : 'no limit'}</span>`}</div>
    <${Problem} error=${error}/>
    <div role="tablist" class="tabs">${[['documents', 'Documents'], ['indexes', 'Indexes'], ['options', 'Options']].map(([k, t]) => html`<button role="tab" key=${k} id=${'tab-' + k} aria-selected=${tab === k} onClick=${() => setTab(k)}>${t}</button>`)}</div>
    <div role="tabpanel" aria-labelledby=${'tab-' + tab}>
    ${tab === 'documents' && html`<${Documents} about=${about} ns=${ns}/>`}
    ${tab === 'indexes' && data && html`<${Table} caption="Indexes" rows=${data.indexDetails} keyOf=${(x) => x.name} columns=${[
      { name: 'name', title: 'Name', value: (x) => x.name },
      { name: 'key', title: 'Keys', value: (x) => short(x.key), show: (x) => html`<code>${short(x.key)}</code>` },
      { name: 'kind', title: 'Kind', value: (x) => ['unique', 'sparse', 'hidden'].filter((k) => x[k]).concat(x.partialFilterExpression ? ['partial'] : [], 'expireAfterSeconds' in x ? ['expires'] : []).join(', ') },
      { name: 'uses', title: 'Uses since server start', right: true, value: (x) => uses(x.name), show: (x) => num(uses(x.name)) },
      { name: 'size', title: 'On disk', right: true, value: (x) => size(x.name) ?? -1, show: (x) => bytes(size(x.name)) },
    ]}/>`}
    ${tab === 'options' && data && html`<pre class="text" tabindex="0">${JSON.stringify({ options: data.options, statistics: data.statistics }, null, 1)}</pre>`}</div>`;
}

function Documents({ about, ns }) {
  const p = usePlace();
  const begin = p.extra.startsWith('find:') ? p.extra.slice(5) : '';
  const [form, setForm] = useState({ filter: begin, sort: '', projection: '', limit: 20 });
  const [state, set] = useState({ skip: 0 }), [before, setBefore] = useState(null), [asked, ask] = useState(null), [edit, setEdit] = useState(null);
  const body = (skip) => ({ ns, ...form, limit: Number(form.limit), skip });
  const run = async (skip) => {
    set((s) => ({ ...s, busy: true, error: null, plan: null }));
    try { set({ skip, page: await post('find', body(skip)) }); } catch (error) { set({ skip, error }); }
  };
  // change reads the document again with all its types, so that fields that are not edited keep their type.
  const change = async (d) => {
    try { setEdit({ text: JSON.stringify((await post('find', { ns, filter: { _id: d._id }, limit: 1, canonical: true })).documents[0], null, 2), id: d._id }); } catch (error) { set({ ...state, error }); }
  };
  const explain = async () => { try { set({ ...state, plan: await post('explain', { ...body(state.skip), run: false }), error: null }); } catch (error) { set({ ...state, error }); } };
  useEffect(() => { run(0); }, [ns]);
  // What it will cost is said while one types.
  useEffect(() => {
    const timer = setTimeout(() => post('find', { ...body(0), estimate: true }).then((r) => setBefore(r.estimate), () => setBefore(null)), 250);
    return () => clearTimeout(timer);
  }, [form.filter, form.sort, form.projection, form.limit]);
  const field = (name, title, hint) => html`<label class=${'field ' + name}>${title}<input value=${form[name]} placeholder=${hint} spellcheck=${false} autocomplete="off" onInput=${(e) => setForm({ ...form, [name]: e.target.value })}/></label>`;
  const page = state.page;
  return html`
    <form class="query" onSubmit=${(e) => { e.preventDefault(); run(0); }}>
      ${field('filter', 'Filter', '{customer: "c7"}')}${field('sort', 'Sort', '{_id: -1}')}${field('projection', 'Projection', '{total: 1}')}
      <label class="field limit">Page size<input type="number" min="1" max="1000" value=${form.limit} onInput=${(e) => setForm({ ...form, limit: e.target.value })}/></label>
      <button class="primary" disabled=${state.busy}>Find</button><button type="button" onClick=${explain}>Explain</button>
      ${about.write && html`<button type="button" onClick=${() => setEdit({ text: '{\n  \n}', insert: true })}>Insert…</button>`}
    </form>
    <p class="charge" aria-live="polite">
      ${before && html`<span>Estimated <b data-before>${before.atLeast ? 'at least ' : ''}${num(before.total)} RU</b></span>`}
      ${page && html`<span>Charged <b data-charge>${num(page.charge)} RU</b> in ${num(page.millis)} ms</span>`}
      <span class="grow"></span>
      ${page && html`<span>${page.documents.length === 0 ? 'no documents found' : `${state.skip + 1}–${state.skip + page.documents.length}`}</span>
      <button disabled=${state.skip === 0} onClick=${() => run(Math.max(0, state.skip - Number(form.limit)))}>← Previous</button><button disabled=${!page.more} onClick=${() => run(state.skip + Number(form.limit))}>Next →</button>`}</p>
    <${Problem} error=${state.error}/>
    ${state.plan && html`<${Plan} plan=${state.plan}/>`}
    <ol class="documents" aria-label="Documents">${page?.documents.map((d, i) => html`<li key=${JSON.stringify(d._id) + i}><${Document} d=${d}/>
      ${about.write && html`<div class="actions"><button class="small" onClick=${() => change(d)}>Edit…</button><button class="small" onClick=${() => ask(d)}>Delete…</button></div>`}</li>`)}</ol>
    ${asked && html`<${Confirm} danger title="Delete a document" action=${() => post('documents/delete', { ns, id: asked._id })} onDone=${() => run(state.skip)} onClose=${() => ask(null)}><pre class="text">${JSON.stringify(asked, null, 1)}</pre></${Confirm}>`}
    ${edit && html`<${Confirm} title=${edit.insert ? 'Insert a document' : 'Replace a document'} action=${() => post(edit.insert ? 'documents/insert' : 'documents/replace', { ns, id: edit.id, document: edit.text })} onDone=${() => run(state.skip)} onClose=${() => setEdit(null)}><label class="field">Document<textarea rows="14" value=${edit.text} onInput=${(e) => { edit.text = e.target.value; }}></textarea></label></${Confirm}>`}`;
}

function Document({ d }) {
  const [open, setOpen] = useState(false);
  const line = short(d);
  return html`<button class="plain doc" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? '▾' : '▸'} <code>${open ? `_id: ${short(d._id)}` : line.length > 400 ? line.slice(0, 400) + ' …' : line}</code></button>${open && html`<pre class="text" tabindex="0">${JSON.stringify(d, null, 2)}</pre>`}`;
}
