// Lines over time, drawn by uPlot. Dragging selects a time for all views.
import { html, useEffect, useRef } from './vendor/htm-preact.js';
import { clock, num } from './api.js';
import { visit } from './state.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// scale is how much larger letters are than usual, as on a wall.
const scale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;

// The pointers of all charts move together.
const sync = { key: 'console' };

function options(props, width, height) {
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { show: false }, font: `${11 * scale()}px system-ui` };
  return {
    width, height, padding: [8, 26, 0, 0], cursor: { sync, drag: { x: true, y: false, setScale: false }, points: { size: 6 } }, legend: { show: false },
    select: { show: true },
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        visit({ brush: [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x') + 1] });
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
      setCursor: [(u) => props.onCursor?.(u.cursor.idx)],
      draw: props.marks?.length ? [(u) => {
        const c = u.ctx;
        c.save();
        c.strokeStyle = colour('--mark');
        c.setLineDash([4, 3]);
        for (const e of props.marks) {
          const x = u.valToPos(e.at, 'x', true);
          if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
          c.beginPath(); c.moveTo(x, u.bbox.top); c.lineTo(x, u.bbox.top + u.bbox.height); c.stroke();
        }
        c.restore();
      }] : [],
    },
    scales: { x: { time: true }, y: { range: (u, lo, hi) => [0, Math.max(hi * 1.1, props.least ?? 1)] } },
    axes: [
      { ...axis, values: (u, splits) => splits.map((s) => clock(s, u.scales.x.max - u.scales.x.min < 1800)), space: 80 * scale(), size: 28 * scale() },
      { ...axis, values: (u, splits) => splits.map(num), size: 52 * scale() },
    ],
    series: [{}, ...props.series.map((s) => ({
      label: s.label, stroke: colour(s.colour), width: s.width ?? 1.75, dash: s.dash, fill: s.fill ? colour(s.fill) : undefined,
      points: { show: false }, paths: s.steps ? window.uPlot.paths.stepped({ align: 1 }) : undefined, spanGaps: true,
    }))],
  };
}

export function Chart(props) {
  const box = useRef(null), plot = useRef(null), shown = useRef(props);
  shown.current = props;
  const data = [props.times, ...props.series.map((s) => s.values)];
  useEffect(() => {
    const make = () => {
      plot.current?.destroy();
      const el = box.current;
      plot.current = new window.uPlot(options({ ...shown.current, marks: shown.current.marks }, el.clientWidth, (props.height ?? 180) * scale()), [shown.current.times, ...shown.current.series.map((s) => s.values)], el);
    };
    make();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: box.current.clientWidth, height: (props.height ?? 180) * scale() }));
    observer.observe(box.current);
    addEventListener('theme', make);
    return () => { observer.disconnect(); removeEventListener('theme', make); plot.current?.destroy(); };
  }, [props.series.length, props.height, (props.marks ?? []).length]);
  useEffect(() => { plot.current?.setData(data); });
  const last = props.series.map((s) => `${s.label} ${num(s.values.at(-1))}`).join(', ');
  return html`<figure class="chart">
    <figcaption><strong>${props.title}</strong> ${props.series.map((s) => html`<span class="key" key=${s.label}><i class=${'dot ' + s.colour.slice(2)}></i>${s.label} <b>${num(s.values.at(-1))}</b></span>`)}</figcaption>
    <div ref=${box} role="img" aria-label=${`${props.title} over time; at the end: ${last}`}></div>
  </figure>`;
}
