// The frame around the views: the menu, the user, the collection and the time range.
import { html, render, useEffect, useErrorBoundary, useState } from './vendor/htm-preact.js';
import { bytes, clock, get, post } from './api.js';
import { live } from './live.js';
import { isDark } from './palette.js';
import { Problem } from './parts.js';
import { go, link, ranges, useAsk, usePlace, visit } from './state.js';
import Bill from './views/bill.js';
import Collections from './views/collections.js';
import Heat from './views/heat.js';
import Now from './views/now.js';
import Operations from './views/operations.js';
import Partitions from './views/partitions.js';
import Requests from './views/requests.js';
import Server from './views/server.js';
import WhatIf from './views/whatif.js';

const views = [
  ['now', 'Now', Now], ['heat', 'Heat map', Heat], ['partitions', 'Partitions', Partitions], ['requests', 'Requests', Requests],
  ['collections', 'Collections', Collections], ['operations', 'Operations', Operations], ['whatif', 'What if', WhatIf], ['server', 'Server', Server], ['bill', 'Bill', Bill],
];

const system = (c) => ['admin', 'config', 'local'].includes(c.db) || c.name.startsWith('system.');

function Login({ onDone, wrong }) {
  const [f, setF] = useState({ user: '', password: '', db: 'admin' }), [error, setError] = useState(wrong);
  useEffect(() => { document.querySelector('main.login input')?.focus(); }, []);
  const run = async (e) => { e.preventDefault(); try { onDone(await post('login', f)); } catch (x) { setError(x); } };
  const field = (name, title, type, complete) => html`<label class="field">${title}<input name=${name} type=${type} autocomplete=${complete} value=${f[name]} onInput=${(e) => setF({ ...f, [name]: e.target.value })}/></label>`;
  return html`<main class="login"><form onSubmit=${run}><h1>Cantle</h1><p class="quiet">Log in as a database user.</p>
    ${field('user', 'User', 'text', 'username')}${field('password', 'Password', 'password', 'current-password')}${field('db', 'Authentication database', 'text', 'off')}
    <${Problem} error=${error}/><button class="primary">Log in</button></form></main>`;
}

function Broken({ View, ...rest }) {
  const [error, reset] = useErrorBoundary((e) => reportError(e));
  const p = usePlace();
  useEffect(() => reset(), [p.view, p.ns]);
  return error ? html`<p class="problem" role="alert">This view failed: ${error.message}. <button onClick=${reset}>Try again</button></p>` : html`<${View} ...${rest}/>`;
}

function Frame({ about, onOut }) {
  const p = usePlace();
  const [, again] = useState(0), [menu, setMenu] = useState(false);
  const catalogue = useAsk(() => get('collections'), [], 10);
  const list = catalogue.data?.collections;
  const disk = useAsk(() => (about.load ? get('disk') : null), [], 10).data;
  useEffect(() => {
    if (!about.load) return undefined;
    const f = () => again((n) => n + 1);
    live.listeners.add(f);
    live.start().catch(() => dispatchEvent(new Event('nobody')));
    return () => { live.listeners.delete(f); live.source?.close(); };
  }, []);
  useEffect(() => {
    const keys = (e) => {
      if (e.target.closest('input, textarea, select, dialog') || e.ctrlKey || e.metaKey || e.altKey) return;
      const n = Number(e.key);
      if (n >= 1 && n <= views.length) location.hash = link({ view: views[n - 1][0] });
      if (e.key === 't') theme();
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, []);
  // A view that is about one collection begins with the busiest there is, or the first.
  useEffect(() => {
    if (!p.ns && list && ['heat', 'partitions', 'whatif'].includes(p.view)) {
      const ns = live.hot[0]?.ns ?? list.find((c) => !system(c) && c.partitions > 1)?.ns ?? list.find((c) => !system(c))?.ns;
      if (ns) go({ ns });
    }
  }, [p.view, p.ns, list]);
  const [, title, View] = views.find((v) => v[0] === p.view) ?? views[0];
  const shown = [...new Set([p.ns, ...(list ?? []).filter((c) => !system(c)).map((c) => c.ns)])].filter(Boolean).sort();
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.querySelector('main').focus(); }}>Skip to content</a>
    <nav aria-label="Views" class=${menu ? 'open' : ''}>
      <a class="brand" href=${link({ view: 'now', ns: '', brush: null })}><img src="icon.svg" alt="" width="24" height="24"/>Cantle</a>
      <ul>${views.map(([name, t], i) => html`<li key=${name}><a href=${link({ view: name })} aria-current=${p.view === name ? 'page' : undefined} onClick=${() => setMenu(false)}><kbd aria-hidden="true">${i + 1}</kbd>${t}</a></li>`)}</ul>
      <div class="foot">${about.docs && html`<a href="docs/" target="_blank">Documentation</a>`}<button onClick=${theme} title="t">${isDark() ? 'Light' : 'Dark'}</button>
        <span class="quiet">${about.version}<br/>emulates MongoDB ${about.compat}<br/>price list ${about.prices}</span>
        ${about.user && html`<span>${about.user} <button class="small" onClick=${onOut}>Log out</button></span>`}</div>
    </nav>
    <div class="page">
      <header class="top">
        <h1>${title}</h1>
        <label class="hidden" for="ns">Collection</label>
        <select id="ns" value=${p.ns} onChange=${(e) => visit({ ns: e.target.value, extra: '' })}><option value="" selected=${!p.ns}>all collections</option>${shown.map((ns) => html`<option key=${ns} value=${ns} selected=${ns === p.ns}>${ns}</option>`)}</select>
        <div class="ranges" role="group" aria-label="Time">${ranges.map(([r, t]) => html`<button key=${r} aria-pressed=${p.range === r && !p.brush} onClick=${() => visit({ range: r, brush: null })}>${t}</button>`)}</div>
        ${p.brush && html`<button class="brush" onClick=${() => visit({ brush: null })} aria-label="Clear the time selection">${clock(p.brush[0])} – ${clock(p.brush[1])} ✕</button>`}
        <span class="grow"></span>
        ${about.load && html`<span class=${live.connected ? 'live on' : 'live'} role="status">${live.connected ? 'live' : 'not connected'}</span>`}
      </header>
      <main id="main" tabindex="-1"><${Problem} error=${catalogue.error}/>${disk?.refusesWrites && html`<p class="problem full" role="alert"><strong>The disk is full.</strong> Writes are refused until there is free space; reads, deletes and drops work. ${bytes(disk.diskFreeBytes)} are free; ${bytes(disk.diskReserveBytes)} must stay free.</p>`}
        <${Broken} View=${View} about=${about} list=${list} disk=${disk}/></main>
    </div>`;
}

function theme() {
  document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  localStorage.setItem('theme', document.documentElement.dataset.theme);
  dispatchEvent(new Event('theme'));
  live.tell();
}

function App() {
  const [about, setAbout] = useState(null), [error, setError] = useState(null);
  useEffect(() => {
    get('server').then(setAbout, setError);
    const nobody = () => get('server').then((a) => setAbout(a.auth ? { ...a, user: '' } : a), setError);
    addEventListener('nobody', nobody);
    return () => removeEventListener('nobody', nobody);
  }, []);
  if (error) return html`<main class="login"><${Problem} error=${error}/></main>`;
  if (!about) return html`<p class="loading">Loading the console…</p>`;
  if (about.auth && !about.user) return html`<${Login} onDone=${setAbout}/>`;
  return html`<${Frame} key=${about.user} about=${about} onOut=${() => post('logout', {}).then(() => { live.source?.close(); setAbout({ ...about, user: '' }); })}/>`;
}

const chosen = localStorage.getItem('theme');
if (chosen) document.documentElement.dataset.theme = chosen;
document.getElementById('app').textContent = '';
render(html`<${App}/>`, document.getElementById('app'));
