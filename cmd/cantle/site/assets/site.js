// The search field, the list of versions, and the buttons that copy code.
'use strict';

try {
  const theme = localStorage.getItem('theme'); // the console's choice
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* no storage, no choice */ }

// load loads a script once.
const loaded = {};
const load = (src) => (loaded[src] = loaded[src] || new Promise((done, failed) => {
  const e = document.createElement('script');
  e.src = src;
  e.onload = done;
  e.onerror = failed;
  document.head.append(e);
}));

const field = document.getElementById('search'), results = document.getElementById('results');
let prepared;

async function show() {
  const question = field.value.trim();
  if (!question) { results.hidden = true; return; }
  await load('search-index.js');
  prepared = prepared || prepare(window.cantleSections);
  if (field.value.trim() !== question) return;
  const found = search(prepared, question, 12);
  results.replaceChildren(...found.map((s) => {
    const item = document.createElement('li'), a = document.createElement('a'), small = document.createElement('small');
    a.href = s.p + (s.i ? '#' + s.i : '');
    a.textContent = s.i ? `${s.t} › ${s.h}` : s.t;
    a.addEventListener('click', () => { results.hidden = true; });
    small.textContent = excerpt(s.x, question);
    a.append(small);
    item.append(a);
    return item;
  }));
  if (!found.length) {
    const none = document.createElement('li');
    none.textContent = 'No page has these words.';
    results.append(none);
  }
  results.hidden = false;
}

field.addEventListener('input', show);
field.addEventListener('focus', show);
document.addEventListener('click', (e) => { if (!e.target.closest('.search')) results.hidden = true; });
document.addEventListener('keydown', (e) => {
  const links = [...results.querySelectorAll('a')], at = links.indexOf(document.activeElement);
  if (e.key === '/' && !e.target.closest('input, textarea, select')) { e.preventDefault(); field.focus(); }
  if (results.hidden || !e.target.closest('.search')) return;
  if (e.key === 'Escape') { field.focus(); results.hidden = true; }
  if (e.key === 'Enter' && e.target === field && links.length) location.href = links[0].href;
  if (e.key === 'ArrowDown' && links.length) { e.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus(); }
  if (e.key === 'ArrowUp') { e.preventDefault(); (at > 0 ? links[at - 1] : field).focus(); }
});

// The list of versions is beside the folder of this version; below the console there is none.
const own = document.getElementById('version');
if (own.dataset.others) load(own.dataset.others).then(() => {
  const list = window.cantleVersions || [];
  if (list.length < 2) return;
  const choice = document.createElement('select');
  choice.setAttribute('aria-label', 'Version');
  for (const v of list) choice.add(new Option(v, v, false, v === own.dataset.version));
  choice.addEventListener('change', () => { location.href = `../${choice.value}/index.html`; });
  own.replaceChildren(choice);
}, () => {});

for (const pre of document.querySelectorAll('pre')) {
  if (!navigator.clipboard) break;
  const button = document.createElement('button'), text = pre.textContent;
  button.textContent = 'Copy';
  button.addEventListener('click', async () => { await navigator.clipboard.writeText(text); button.textContent = 'Copied'; });
  pre.append(button);
}

if (matchMedia('(max-width: 48rem)').matches) document.querySelector('nav details').open = false;
