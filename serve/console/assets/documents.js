// Documents of a collection: a query, its pages as a table or as trees, its plan and its charge.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { post } from './api.js';
import { Bill, usePages } from './pages.js';
import { Confirm, Problem } from './parts.js';
import { usePlace } from './state.js';
import { Results, plain, useForm } from './typed.js';
import { Plan } from './views/requests.js';

// useEstimate returns the estimated charge of a request to POST /find or /aggregate while the user types, null without a
// body or if the request is wrong. wait is the pause after the last change, in milliseconds.
function useEstimate(path, body, wait) {
  const [estimate, set] = useState(null);
  useEffect(() => {
    const timer = setTimeout(() => (body ? post(path, { ...body, estimate: true }).then((r) => set(r.estimate), () => set(null)) : set(null)), wait);
    return () => clearTimeout(timer);
  }, [JSON.stringify(body)]);
  return estimate;
}

export function Documents({ about, ns }) {
  const p = usePlace();
  const [form, setForm] = useState({ filter: p.extra.startsWith('find:') ? p.extra.slice(5) : '', sort: '', projection: '', limit: 20 });
  const [asked, ask] = useState(null), [edit, setEdit] = useState(null), [plan, setPlan] = useState(null);
  const pages = usePages(ns), [as, buttons] = useForm();
  const body = { ...form, limit: Number(form.limit) }, before = useEstimate('find', { ns, ...body }, 250);
  const run = () => { setPlan(null); return pages.run('find', body); };
  // change reads the document again, whole and with all its types, so that fields that are not edited keep their type.
  const change = async (r) => {
    try { setEdit({ text: JSON.stringify((await post('find', { ns, filter: { _id: r.id }, limit: 1, canonical: true })).documents[0], null, 2), id: r.id }); } catch (error) { pages.fail(error); }
  };
  const explain = async () => { try { setPlan(await post('explain', { ns, ...body, run: false })); pages.fail(null); } catch (error) { pages.fail(error); } };
  useEffect(() => { run(); }, [ns]);
  const field = (name, title, hint) => html`<label class=${'field ' + name}>${title}<input value=${form[name]} placeholder=${hint} spellcheck=${false} autocomplete="off" onInput=${(e) => setForm({ ...form, [name]: e.target.value })}/></label>`;
  const actions = about.write ? (r) => r.id !== null && html`<div class="actions"><button class="small" onClick=${() => change(r)}>Edit…</button><button class="small" onClick=${() => ask(r)}>Delete…</button></div>` : undefined;
  return html`
    <form class="query" onSubmit=${(e) => { e.preventDefault(); run(); }}>
      ${field('filter', 'Filter', '{customer: "c7"}')}${field('sort', 'Sort', '{_id: -1}')}${field('projection', 'Projection', '{total: 1}')}
      <label class="field limit">Page size<input type="number" min="1" max="1000" value=${form.limit} onInput=${(e) => setForm({ ...form, limit: e.target.value })}/></label>
      <button class="primary" disabled=${pages.busy}>Find</button><button type="button" onClick=${explain}>Explain</button>
      ${about.write && html`<button type="button" onClick=${() => setEdit({ text: '{\n  \n}', insert: true })}>Insert…</button>`}
    </form>
    <${Bill} of=${pages} before=${before}>${buttons}</${Bill}>
    <${Problem} error=${pages.error}/>
    ${plan && html`<${Plan} plan=${plan}/>`}
    ${pages.page && html`<${Results} rows=${pages.page.documents} as=${as} actions=${actions}/>`}
    ${asked && html`<${Confirm} danger title="Delete a document" action=${() => post('documents/delete', { ns, id: asked.id })} onDone=${run} onClose=${() => ask(null)}><pre class="text">${plain(asked.fields, 2000)}</pre></${Confirm}>`}
    ${edit && html`<${Confirm} title=${edit.insert ? 'Insert a document' : 'Replace a document'} action=${() => post(edit.insert ? 'documents/insert' : 'documents/replace', { ns, id: edit.id, document: edit.text })} onDone=${run} onClose=${() => setEdit(null)}><label class="field">Document<textarea rows="14" value=${edit.text} onInput=${(e) => { edit.text = e.target.value; }}></textarea></label></${Confirm}>`}`;
}

const example = '[\n  {$match: {}},\n  {$group: {_id: "$customer", n: {$sum: 1}}},\n  {$sort: {n: -1}},\n  {$limit: 20}\n]';

// Aggregation runs a pipeline that reads, and shows its plan, its charge and its results.
export function Aggregation({ ns }) {
  const [text, setText] = useState(sessionStorage.getItem('pipeline') ?? ''), [limit, setLimit] = useState(20);
  const [plan, setPlan] = useState(null);
  const pages = usePages(ns), [as, buttons] = useForm();
  const body = { pipeline: text, limit: Number(limit) }, before = useEstimate('aggregate', text.trim() ? { ns, pipeline: text } : null, 400);
  const explain = async (run) => { try { setPlan(await post('explain', { ns, ...body, run })); pages.fail(null); } catch (error) { setPlan(null); pages.fail(error); } };
  const type = (t) => { sessionStorage.setItem('pipeline', t); setText(t); };
  return html`
    <form class="query" onSubmit=${(e) => { e.preventDefault(); setPlan(null); pages.run('aggregate', body); }}>
      <label class="field pipeline">Pipeline<textarea rows="7" value=${text} placeholder=${example} spellcheck=${false} onInput=${(e) => type(e.target.value)}></textarea></label>
      <label class="field limit">Page size<input type="number" min="1" max="1000" value=${limit} onInput=${(e) => setLimit(e.target.value)}/></label>
      <button class="primary" disabled=${pages.busy}>Run</button><button type="button" onClick=${() => explain(false)}>Explain</button><button type="button" onClick=${() => explain(true)}>Explain and run</button>
    </form>
    <p class="quiet">Stages as in the shell. $out and $merge are refused. A run, with all of its pages, takes at most 60 seconds.</p>
    <${Bill} of=${pages} before=${before}>${buttons}</${Bill}>
    <${Problem} error=${pages.error}/>
    ${plan && html`<${Plan} plan=${plan}/>`}
    ${pages.page && html`<${Results} rows=${pages.page.documents} as=${as}/>`}`;
}
