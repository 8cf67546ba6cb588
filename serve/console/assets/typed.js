// Documents in their typed form (serve/console/typed.go) as a table or as trees. Types have the names of MongoDB Compass.
import { html, useState } from './vendor/htm-preact.js';
import { num } from './api.js';

const columnsMax = 60;

// cutNote is the length of a value of which only a part was sent, for the place behind this part; "" for a complete value.
const cutNote = (v) => (v.n ? ` … (${num(v.n)} bytes)` : '');

const isText = (v) => v.t === 'String' || v.t === 'BSONSymbol';

// plain is a value on one line, without its type.
export function plain(v, most = 80) {
  switch (v.t) {
    case 'Object': return line(v, most);
    case 'Array': {
      let out = '[';
      for (const [i, x] of v.a.entries()) {
        if (out.length > most) return out + ', …]';
        out += (i ? ', ' : '') + plain(x, most - out.length);
      }
      return out + (v.a.length < v.n ? ', …]' : ']');
    }
    case 'String': case 'BSONSymbol': return `"${v.v.length > most ? v.v.slice(0, most) + '…' : v.v}"`;
    case 'ObjectId': return `ObjectId("${v.v}")`;
    case 'Date': return `ISODate("${v.v}")`;
    default: return v.v.length > most ? v.v.slice(0, most) + '…' : v.v;
  }
}

// line is a document on one line.
function line(v, most) {
  let out = '{';
  for (const [i, [name, x]] of v.f.entries()) {
    if (out.length > most) return out + ', …}';
    out += `${i ? ', ' : ''}${name}: ${plain(x, Math.max(10, most - out.length))}`;
  }
  return out + (v.f.length < v.n ? ', …}' : '}');
}

const count = (n, one) => `${num(n)} ${one}${n === 1 ? '' : 's'}`;

// Scalar is a value without members: its text, and its type at the edge.
const Scalar = ({ v }) => html`<span class=${'value ' + v.t}>${isText(v) ? `"${v.v}"` : v.v}${cutNote(v)}</span>`;

// Node is a field or element with its value; one with members opens.
function Node({ name, v, open: first }) {
  const [open, setOpen] = useState(first);
  const members = v.f ?? v.a;
  if (!members) return html`<li><span class="name">${name}</span> <${Scalar} v=${v}/> <span class="type">${v.t}</span></li>`;
  return html`<li><button class="plain" aria-expanded=${!!open} onClick=${() => setOpen(!open)}>${open ? '▾' : '▸'} <span class="name">${name}</span></button> <span class="quiet">${open ? '' : plain(v, 60)}</span> <span class="type">${v.t} · ${count(v.n, v.f ? 'field' : 'element')}</span>
    ${open && html`<${Members} v=${v}/>`}</li>`;
}

// Members lists the fields of a document, or the elements of an array.
const Members = ({ v }) => html`<ul class="tree">${v.f ? v.f.map(([name, x], i) => html`<${Node} key=${i} name=${name} v=${x}/>`) : v.a.map((x, i) => html`<${Node} key=${i} name=${String(i)} v=${x}/>`)}
  ${(v.f ?? v.a).length < v.n && html`<li class="quiet">${count(v.n - (v.f ?? v.a).length, v.f ? 'more field' : 'more element')} not shown: use a projection</li>`}</ul>`;

function Tree({ row, actions }) {
  const [open, setOpen] = useState(false);
  return html`<li><button class="plain doc" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? '▾' : '▸'} <code>${open ? line(row.fields, 40) : line(row.fields, 400)}</code></button>
    ${open && html`<${Members} v=${row.fields}/>`}${actions?.(row)}</li>`;
}

// at is the value at a path of names, undefined if there is none.
const at = (v, path) => path.reduce((x, name) => x?.f?.find(([n]) => n === name)?.[1], v);

// columnsOf lists the columns for documents: their fields in the order in which they first occur; those of the documents
// in an opened column stand in its place.
function columnsOf(rows, opened) {
  const out = [];
  const visit = (path) => {
    const seen = new Map();
    for (const r of rows) for (const [name, v] of (path.length ? at(r.fields, path) : r.fields)?.f ?? []) {
      const x = seen.get(name) ?? { path: [...path, name], types: new Set(), objects: false };
      x.types.add(v.t);
      x.objects ||= v.t === 'Object';
      seen.set(name, x);
    }
    for (const c of seen.values()) {
      c.key = JSON.stringify(c.path);
      out.push(c);
      if (c.objects && opened.has(c.key)) { c.open = true; visit(c.path); }
    }
  };
  visit([]);
  return out;
}

function Cell({ v, open }) {
  if (!v) return html`<td></td>`;
  const text = v.t === 'Object' ? (open ? '' : `{${count(v.n, 'field')}}`) : v.t === 'Array' ? `[${count(v.n, 'element')}]` : null;
  return html`<td title=${`${v.t}: ${plain(v, 300)}${cutNote(v)}`} class=${['Int32', 'Int64', 'Double', 'Decimal128'].includes(v.t) ? 'right' : ''}>${text === null ? html`<span class=${'value ' + v.t}>${isText(v) ? plain(v, 60).slice(1, -1) : plain(v, 60)}</span>` : html`<span class="quiet">${text}</span>`}</td>`;
}

// Grid shows documents as a table: a column for each field, with its types.
function Grid({ rows, actions }) {
  const [opened, setOpened] = useState(new Set()), [chosen, choose] = useState(-1);
  const all = columnsOf(rows, opened), columns = all.slice(0, columnsMax);
  const toggle = (key) => setOpened((s) => { const next = new Set(s); if (!next.delete(key)) next.add(key); return next; });
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Documents"><table class="grid"><caption class="hidden">Documents</caption>
    <thead><tr><th scope="col"></th>${columns.map((c) => html`<th key=${c.key} scope="col" data-column=${c.path.join('.')}>${c.objects ? html`<button aria-expanded=${!!c.open} onClick=${() => toggle(c.key)} title=${c.open ? 'Close the columns of its fields' : 'Columns for its fields'}>${c.path.join('.')} ${c.open ? '▾' : '▸'}</button>` : html`<span class="head">${c.path.join('.')}</span>`}<span class="type">${[...c.types].join(', ')}</span></th>`)}</tr></thead>
    <tbody>${rows.map((r, i) => html`<tr key=${i} class=${chosen === i ? 'chosen' : ''}><td><button class="small" aria-expanded=${chosen === i} aria-label=${`Document ${i + 1} as a tree`} onClick=${() => choose(chosen === i ? -1 : i)}>${chosen === i ? '▾' : '▸'}</button></td>${columns.map((c) => html`<${Cell} key=${c.key} v=${at(r.fields, c.path)} open=${c.open}/>`)}</tr>
      ${chosen === i && html`<tr key=${'tree' + i}><td colspan=${columns.length + 1}><${Members} v=${r.fields}/>${actions?.(r)}</td></tr>`}`)}</tbody></table>
    ${all.length > columns.length && html`<p class="quiet">${count(all.length - columns.length, 'more column')} not shown: use a projection.</p>`}</div>`;
}

// Results shows documents as the user has chosen: a table, or a tree of each.
export function Results({ rows, as, actions }) {
  if (as === 'table') return rows.length > 0 && html`<${Grid} rows=${rows} actions=${actions}/>`;
  return html`<ol class="documents" aria-label="Documents">${rows.map((r, i) => html`<${Tree} key=${JSON.stringify(r.id) + i} row=${r} actions=${actions}/>`)}</ol>`;
}

// useForm returns the form of documents that the user has chosen in this browser, and its buttons.
export function useForm() {
  const [as, set] = useState(localStorage.getItem('documents') === 'table' ? 'table' : 'tree');
  const button = (k, t) => html`<button key=${k} aria-pressed=${as === k} onClick=${() => { localStorage.setItem('documents', k); set(k); }}>${t}</button>`;
  return [as, html`<span class="ranges" role="group" aria-label="Form of documents">${button('tree', 'Tree')}${button('table', 'Table')}</span>`];
}
