// The heat map: time from left to right, the line of the shard key from top to bottom. The
// cells are painted once into a picture, and splits once above it; moving and brushing only
// move boxes over both, which redraws nothing.
import { html, useEffect, useMemo, useRef, useState } from './vendor/htm-preact.js';
import { clock, count, num, percent, short } from './api.js';
import { css, heatColours } from './palette.js';
import { Shares } from './who.js';

const pictureHeight = 1024;

// layout decodes the rows and gives each its place from 0 to 1. Partitions of hashed keys lie
// where their hashes do; others lie one below the other.
export function layout(heat) {
  const rows = heat.rows.map((r) => ({ ...r, at: Math.round((r.first - heat.from) / heat.step) }));
  const totals = new Float64Array(heat.columns); // of each column
  const colls = [...new Set(rows.map((r) => r.collection))];
  const line = colls.length === 1 && rows.every((r) => r.to > r.from);
  const keys = line ? [] : [...new Map(rows.map((r) => [`${r.collection}/${r.partition}`, r])).keys()];
  let most = 1;
  for (const r of rows) {
    const k = keys.indexOf(`${r.collection}/${r.partition}`);
    [r.y0, r.y1] = line ? [r.from, r.to] : [k / keys.length, (k + 1) / keys.length];
    for (let i = 0; i < r.cells.length; i++) {
      const c = r.cells[i];
      if (c) { totals[r.at + i] += heat.values[c]; if (c > most) most = c; }
    }
  }
  return { rows, line, most, totals };
}

// cellOf is the cell of a row in a column, with the contents of the tooltip.
function cellOf(heat, plan, row, column) {
  const value = heat.values[row.cells[column - row.at] ?? 0], all = plan.totals[column];
  return { row, column, value, share: all ? value / all : 0, second: heat.from + column * heat.step };
}

// isPinned reports whether a row is one of the pinned partition.
export const isPinned = (pin, r) => String(r.partition) === pin.partition && (!pin.collection || String(r.collection) === pin.collection);

// pinnedCell is the cell of a partition at a second, null if the heat map does not have it.
function pinnedCell(heat, plan, pin) {
  if (!pin?.second) return null;
  const column = Math.floor((pin.second - heat.from) / heat.step);
  const row = plan.rows.find((r) => isPinned(pin, r) && column >= r.at && column < r.at + r.cells.length);
  return row ? cellOf(heat, plan, row, column) : null;
}

// scales are the ways from a value to a colour: by powers of ten, in proportion to the largest
// value, and in proportion to the RU/s that each partition has.
export const scales = [['log', 'Logarithmic'], ['linear', 'Linear'], ['limit', 'Share of the limit']];

// leastOf is the cell content at which the logarithmic scale begins: two and a half powers of ten
// below the largest content, most.
const leastOf = (most) => Math.max(1, most - 64);

// shadesOf returns the number of the colour of each content of a cell. full is the value with the
// last colour on a scale that is not logarithmic.
function shadesOf(heat, most, scale, full) {
  const span = Math.max(1, most - leastOf(most));
  const out = new Uint8Array(256);
  for (let b = 1; b < 256; b++) {
    const shade = scale === 'log' ? 255 - ((most - b) / span) * 235 : (255 * heat.values[b]) / full;
    out[b] = Math.max(12, Math.min(255, Math.round(shade)));
  }
  return out;
}

// paint draws the cells. limits has the RU/s of each partition by its number, for the scale of the
// limit; a partition without a limit has the linear scale instead. Partitions that usedBy does not accept are pale.
function paint(heat, plan, scale, limits, usedBy) {
  const width = Math.max(1, heat.columns);
  const picture = new OffscreenCanvas(width, pictureHeight);
  const c = picture.getContext('2d'), image = c.createImageData(width, pictureHeight);
  const pixels = new Uint32Array(image.data.buffer), colours = heatColours();
  pixels.fill(colours[0]);
  const same = shadesOf(heat, plan.most, scale, heat.values[plan.most]);
  for (const r of plan.rows) {
    const limit = scale === 'limit' && limits.get(String(r.partition)), shade = limit ? shadesOf(heat, plan.most, scale, limit) : same;
    const top = Math.round(r.y0 * pictureHeight), end = Math.max(top + 1, Math.round(r.y1 * pictureHeight));
    const one = new Uint32Array(r.cells.length);
    for (let i = 0; i < one.length; i++) one[i] = colours[r.cells[i] ? shade[r.cells[i]] : 0];
    if (!usedBy(r)) for (let i = 0; i < one.length; i++) one[i] = ((one[i] & 0xffffff) | (pale << 24)) >>> 0;
    for (let y = top; y < end && y < pictureHeight; y++) pixels.set(one.subarray(0, width - r.at), y * width + r.at);
  }
  c.putImageData(image, 0, 0);
  return picture;
}

// pale is the opacity, of 255, of partitions that the chosen application does not use.
const pale = 40;

const unit = { ru: 'RU/s', reads: 'reads/s', writes: 'documents/s', refused: 'refused/s', failed: 'failed/s', kib: 'KiB/s', latency: 'ms' };

export function HeatMap({ heat, events, keysOf, callersOf, usedBy, app, brush, onBrush, pin, onPin, scale, limits }) {
  const base = useRef(null), top = useRef(null), boxes = useRef(null), tell = useRef(() => {}), state = useRef({ cursor: null, drag: null });
  const plan = useMemo(() => layout(heat), [heat]), pinned = useMemo(() => pinnedCell(heat, plan, pin), [heat, pin?.partition, pin?.collection, pin?.second]);
  const [theme, setTheme] = useState(0);
  const end = heat.from + heat.columns * heat.step;
  useEffect(() => {
    const f = () => setTheme((n) => n + 1), media = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('theme', f);
    media.addEventListener('change', f);
    return () => { removeEventListener('theme', f); media.removeEventListener('change', f); };
  }, []);

  const size = () => [top.current.clientWidth, top.current.clientHeight];
  const secondAt = (x) => heat.from + (x / size()[0]) * heat.columns * heat.step;
  const xOf = (second) => ((second - heat.from) / (heat.columns * heat.step)) * size()[0];

  // place moves the boxes of the selection and of the cell pointed at.
  const place = () => {
    if (!boxes.current) return;
    const [w, h] = size(), [before, after, chosen, cell] = boxes.current.children;
    const drag = state.current.drag ?? (brush && brush[1] > heat.from && brush[0] < end ? brush.map(xOf) : null), at = state.current.cursor ?? pinned;
    const put = (box, x, y, width, height) => {
      box.hidden = !(width > 0);
      if (width > 0) { box.style.transform = `translate(${x}px, ${y}px)`; box.style.width = `${width}px`; box.style.height = `${height}px`; }
    };
    const [a, b] = drag ? [Math.max(0, Math.min(...drag)), Math.min(w, Math.max(...drag))] : [0, w];
    put(before, 0, 0, a, h); put(after, b, 0, w - b, h); put(chosen, a, 0, drag ? b - a : 0, h);
    const x = at && (at.column / heat.columns) * w;
    put(cell, x, at && at.row.y0 * h, at ? Math.max(3, w / heat.columns) : 0, at && Math.max(3, (at.row.y1 - at.row.y0) * h));
  };

  const placed = useRef(place);
  placed.current = place;

  // mark draws splits and other events.
  const mark = () => {
    const [w, h] = size(), ratio = devicePixelRatio || 1, c = top.current.getContext('2d');
    top.current.width = Math.round(w * ratio); top.current.height = Math.round(h * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.strokeStyle = c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--mark');
    c.lineWidth = 1.25;
    for (const e of events) {
      const x = xOf(e.at);
      if (x < 0 || x > w || e.kind === 'create') continue;
      const parts = plan.rows.filter((r) => e.partitions?.includes(r.partition) && r.first >= e.at - heat.step);
      c.setLineDash([3, 3]);
      // A partition without requests has no row. Then the line takes its length from the row of the split partition.
      const whole = e.kind === 'split' && plan.rows.find((r) => r.until && Math.abs(r.until - e.at) <= heat.step && parts.some((x) => r.y0 <= x.y0 && r.y1 >= x.y1));
      const about = whole ? [...parts, whole] : parts;
      const lo = parts.length ? Math.min(...about.map((r) => r.y0)) : 0, hi = parts.length ? Math.max(...about.map((r) => r.y1)) : 1;
      c.beginPath(); c.moveTo(x, lo * h); c.lineTo(x, hi * h); c.stroke();
      c.setLineDash([]);
      if (e.kind === 'split') for (const y of new Set(parts.flatMap((r) => [r.y0, r.y1]))) if (y > lo && y < hi) { c.beginPath(); c.moveTo(x, y * h); c.lineTo(w, y * h); c.stroke(); }
      c.beginPath(); c.arc(x, lo * h + 4, 3.5, 0, 7); c.fill();
    }
  };

  useEffect(() => {
    const picture = paint(heat, plan, scale, limits, usedBy);
    const fit = () => {
      const w = base.current.clientWidth, h = base.current.clientHeight, ratio = devicePixelRatio || 1, c = base.current.getContext('2d');
      base.current.width = Math.round(w * ratio); base.current.height = Math.round(h * ratio);
      c.imageSmoothingEnabled = false;
      c.clearRect(0, 0, base.current.width, base.current.height);
      c.drawImage(picture, 0, 0, base.current.width, base.current.height);
      if (!performance.getEntriesByName('heat').length) performance.mark('heat'); // when it was first seen
    };
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(base.current);
    return () => observer.disconnect();
  }, [heat, theme, scale, scale === 'limit' ? limits : null, app && heat.rows.filter(usedBy).map((r) => r.partition).join()]);
  useEffect(() => {
    const fit = () => { mark(); placed.current(); };
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(top.current);
    return () => observer.disconnect();
  }, [heat, theme, events]);
  useEffect(place, [heat, brush?.join(), pinned]);

  // at is the cell under a column and a height, with the contents of the tooltip.
  const cellAt = (column, y) => {
    column = Math.max(0, Math.min(heat.columns - 1, column));
    const covers = (r) => column >= r.at && column < r.at + r.cells.length;
    const row = plan.rows.find((r) => y >= r.y0 && y < r.y1 && covers(r)) ?? plan.rows.find((r) => y >= r.y0 && y < r.y1);
    if (!row) return null;
    return cellOf(heat, plan, row, column);
  };
  const show = (cell) => { state.current.cursor = cell; tell.current(cell); place(); };
  const point = (e) => {
    const b = top.current.getBoundingClientRect();
    return [Math.max(0, Math.min(b.width, e.clientX - b.left)), Math.max(0, Math.min(0.9999, (e.clientY - b.top) / b.height))];
  };
  const move = (e) => {
    const [x, y] = point(e);
    if (state.current.from !== undefined && Math.abs(x - state.current.from) > 4) state.current.drag = [state.current.from, x];
    show(cellAt(Math.floor((x / size()[0]) * heat.columns), y));
  };
  const down = (e) => { state.current.from = point(e)[0]; top.current.setPointerCapture(e.pointerId); };
  const up = () => {
    const drag = state.current.drag;
    state.current.from = undefined; state.current.drag = null;
    if (drag) onBrush([Math.min(...drag), Math.max(...drag)].map((x) => Math.round(secondAt(x)))); else if (state.current.cursor) onPin(state.current.cursor);
  };
  const key = (e) => {
    const at = state.current.cursor ?? cellAt(heat.columns - 1, 0);
    if (!at) return;
    const middle = (at.row.y0 + at.row.y1) / 2, step = e.ctrlKey ? 30 : 1;
    const next = { ArrowLeft: [at.column - step, middle], ArrowRight: [at.column + step, middle], ArrowUp: [at.column, at.row.y0 - 1e-6], ArrowDown: [at.column, at.row.y1 + 1e-6], Home: [0, middle], End: [heat.columns - 1, middle] }[e.key];
    if (next) {
      e.preventDefault();
      const cell = cellAt(next[0], Math.max(0, Math.min(0.9999, next[1])));
      if (cell && e.shiftKey) {
        const anchor = (state.current.anchor ??= at.column);
        onBrush([heat.from + Math.min(anchor, cell.column) * heat.step, heat.from + (Math.max(anchor, cell.column) + 1) * heat.step]);
      } else state.current.anchor = undefined;
      if (cell) show(cell);
    } else if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); show(at); onPin(at); } else if (e.key === 'Escape') { onPin(null); onBrush(null); show(null); }
  };

  return html`<div class="heat">
    <div class="heat-frame">
      <div class="heat-axis" aria-hidden="true"><span>${plan.line ? 'hash 0' : 'first'}</span><span>${plan.line ? '½' : ''}</span><span>${plan.line ? 'max' : 'last'}</span></div>
      <div class="heat-box">
        <canvas ref=${base}></canvas>
        <div class="heat-over" ref=${boxes} aria-hidden="true"><i class="shade" hidden></i><i class="shade" hidden></i><i class="chosen" hidden></i><i class="cell" hidden></i></div>
        <canvas ref=${top} tabindex="0" role="application" aria-label=${`Heat map of ${count(plan.rows.length, 'partition')} over ${count(heat.columns, 'column')}. ${heat.pattern.text} Arrow keys move, shift selects a time range, enter pins.`}
          onPointerMove=${move} onPointerDown=${down} onPointerUp=${up} onPointerLeave=${() => state.current.from === undefined && show(null)} onKeyDown=${key}></canvas>
      </div>
    </div>
    <div class="heat-times" aria-hidden="true"><span>${clock(heat.from)}</span><span>${clock(heat.from + (heat.columns * heat.step) / 2)}</span><span>${clock(end)}</span></div>
    <${Scale} heat=${heat} most=${plan.most} scale=${scale} theme=${theme}/>
    <${Tip} heat=${heat} keysOf=${keysOf} callersOf=${callersOf} tell=${tell} pinned=${pinned} onClose=${() => onPin(null)}/>
  </div>`;
}

// Tip shows the cell under the pointer, or the pinned one. It gets the cell by a call of tell, so
// that nothing else is rendered again while the pointer moves.
function Tip({ heat, keysOf, callersOf, tell, pinned, onClose }) {
  const [tip, setTip] = useState(null);
  tell.current = setTip;
  const told = pinned ?? tip;
  return html`<div class="heat-tip" aria-live="polite">${told ? html`<${Told} cell=${told} heat=${heat} keys=${keysOf?.(told.row)} callers=${callersOf?.(told.row)} pinned=${!!pinned} onClose=${onClose}/>` : html`<span class="quiet">Point at a cell to see its partition; drag to select a time range; click to pin.</span>`}</div>`;
}

// Told shows the data of one cell.
function Told({ cell, heat, keys, callers, pinned, onClose }) {
  const r = cell.row;
  const range = r.lo ? `${short(JSON.parse(r.lo))} … ${short(JSON.parse(r.hi))}` : r.to - r.from === 1 ? 'the whole collection' : 'its range of the shard key';
  const text = `${r.ns} partition ${r.partition} (${range}) ${clock(cell.second)}: ${num(cell.value)} ${unit[heat.metric]}, ${percent(cell.share * 100)}`;
  return html`<div class=${pinned ? 'told pinned' : 'told'}>
    <strong>partition ${r.partition}</strong> <span>${clock(cell.second)}</span> <b>${num(cell.value)} ${unit[heat.metric]}</b>
    <span>${percent(cell.share * 100)} of the total</span> ${r.others > 0 && html`<span>together with ${count(r.others, 'neighbour')}</span>`}
    <span class="quiet range">${range}</span>
    ${keys?.[0]?.key && html`<span>most expensive values: ${keys.slice(0, 3).map((k) => html`<code key=${short(k.key)}>${short(k.key)} <b>${num(k.ru)} RU</b></code>`)}</span>`}
    <${Shares} of=${callers}/>
    ${pinned && html`<span class="actions"><button onClick=${() => navigator.clipboard?.writeText(location.href)} title="The address of the page holds the collection, the time range and this cell">Copy link</button><button onClick=${() => navigator.clipboard?.writeText(text)}>Copy</button><button onClick=${onClose}>Unpin</button></span>`}
  </div>`;
}

function Scale({ heat, most, scale, theme }) {
  const ref = useRef(null);
  useEffect(() => {
    const c = ref.current.getContext('2d'), colours = heatColours();
    for (let i = 0; i < 256; i++) { c.fillStyle = css(colours[Math.max(12, i)]); c.fillRect(i, 0, 1, 10); }
  }, [theme]);
  const least = scale === 'log' ? num(heat.values[leastOf(most)]) : '0', full = scale === 'limit' ? '100 % of its RU/s' : `${num(heat.values[most])} ${unit[heat.metric]}`;
  return html`<div class="scale" aria-hidden="true"><span>${least}</span><canvas ref=${ref} width="256" height="10"></canvas><span>${full}</span></div>`;
}
