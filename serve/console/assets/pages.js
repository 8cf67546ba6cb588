// Pages of a cursor: the server reads each document once, and pages that were read stay in the browser.
import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { num, post } from './api.js';

const pagesMax = 50;

// empty is the state without a page. lost has the sums of the pages that no longer are in the browser.
const empty = { pages: [], at: 0, lost: { rows: 0, charge: 0 } };

// sumOf adds the documents and the charges of pages to those of lost.
const sumOf = (pages, lost) => pages.reduce((a, x) => ({ rows: a.rows + x.documents.length, charge: a.charge + x.charge }), lost);

// usePages returns the state of a query's pages. run(path, body) reads the first page from POST /find or /aggregate.
export function usePages(ns) {
  const [state, set] = useState(empty);
  const open = useRef(null);
  const close = () => {
    if (open.current) post('cursor/close', { ns, cursor: open.current }).catch(() => {});
    open.current = null;
  };
  useEffect(() => close, [ns]);
  const run = async (path, body) => {
    close();
    set((s) => ({ ...s, busy: true, error: null }));
    try {
      const page = await post(path, { ...body, ns, typed: true, cursor: true });
      open.current = page.cursor;
      set({ ...empty, pages: [page], limit: body.limit });
    } catch (error) { set({ ...empty, error }); }
  };
  const next = async () => {
    if (state.at + 1 < state.pages.length) { set({ ...state, at: state.at + 1 }); return; }
    set({ ...state, busy: true, error: null });
    try {
      const page = await post('cursor/next', { ns, cursor: open.current, limit: state.limit, typed: true });
      open.current = page.cursor;
      const pages = [...state.pages, page], extra = Math.max(0, pages.length - pagesMax);
      const lost = sumOf(pages.splice(0, extra), state.lost);
      set({ pages, at: pages.length - 1, lost, limit: state.limit });
    } catch (error) { open.current = null; set({ ...state, busy: false, error, ended: true }); }
  };
  return { ...state, page: state.pages[state.at], run, next, previous: () => set({ ...state, at: state.at - 1 }), fail: (error) => set({ ...state, error }) };
}

// Bill is the charge of a page and of all pages, and the buttons between pages.
export function Bill({ of, before, children }) {
  const page = of.page, skip = sumOf(of.pages.slice(0, of.at), of.lost).rows;
  return html`<div class="charge" aria-live="polite">
    ${before && html`<span>Estimated <b data-before>${before.atLeast ? 'at least ' : ''}${num(before.total)} RU</b></span>`}
    ${page && html`<span>Charged <b data-charge>${num(page.charge)} RU</b> in ${num(page.millis)} ms</span>`}
    ${of.pages.length > 1 && html`<span><b data-all>${num(sumOf(of.pages, of.lost).charge)} RU</b> for all pages so far</span>`}
    <span class="grow"></span>${children}
    ${page && html`<span>${page.documents.length === 0 ? 'no documents found' : `${skip + 1}–${skip + page.documents.length}`}</span>
    <button disabled=${of.at === 0} onClick=${of.previous}>← Previous</button><button disabled=${of.busy || of.at + 1 === of.pages.length && (!page.more || of.ended)} onClick=${of.next}>Next →</button>`}</div>`;
}
