// The JSON API, and how numbers and times are written.

export class Failure extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.codeName = error.codeName;
  }
}

// parse reads JSON; whole numbers that JavaScript cannot represent become {$numberLong}.
function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (m) => (/^-?\d{16,}$/.test(m) ? `{"$numberLong":"${m}"}` : m)));
}

async function answer(reply) {
  const body = await reply.text().then(parse).catch(() => ({ error: { message: `The server answered ${reply.status}`, codeName: '' } }));
  if (!reply.ok) throw new Failure(reply.status, body.error);
  return body;
}

export const get = async (path, args = {}) => {
  const query = new URLSearchParams(Object.entries(args).filter(([, v]) => v !== undefined && v !== ''));
  return answer(await fetch(`api/v1/${path}${query.size ? '?' + query : ''}`));
};

export const post = async (path, body) =>
  answer(await fetch(`api/v1/${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }));

// bytesOf decodes base64.
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < out.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// getHeat reads a heat map: the cells of its rows are bytes, and values has the value of each
// byte.
export async function getHeat(args) {
  const heat = await get('heat', args);
  heat.values = Float64Array.from({ length: 256 }, (_, b) => (b ? heat.least * heat.ratio ** (b - 1) : 0));
  for (const r of heat.rows) r.cells = bytesOf(r.cells);
  return heat;
}

// num writes a number with three digits that matter, and thousands apart.
export function num(v) {
  if (v === undefined || v === null || Number.isNaN(v)) return '–';
  const a = Math.abs(v);
  if (a >= 1e9) return (v / 1e9).toPrecision(3) + ' G';
  if (a >= 1e6) return (v / 1e6).toPrecision(3) + ' M';
  if (a >= 100) return Math.round(v).toLocaleString('en-US').replaceAll(',', '\u202f');
  if (a >= 10 || Number.isInteger(v)) return String(Math.round(v * 10) / 10);
  return String(Math.round(v * 100) / 100);
}

export function bytes(v) {
  if (v === undefined || v === null) return '–';
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (v >= 1024 && i < units.length - 1) { v /= 1024; i++; }
  return `${v >= 100 || i === 0 ? Math.round(v) : Math.round(v * 10) / 10} ${units[i]}`;
}

// count writes a number with its noun, whose plural ends in s.
export const count = (n, noun) => `${num(n)} ${noun}${n === 1 ? '' : 's'}`;

export const percent = (v) => `${v >= 10 || v === 0 ? Math.round(v) : Math.round(v * 10) / 10} %`;

const two = (n) => String(n).padStart(2, '0');

// clock writes seconds since 1970 as the time of day, with the day if it is another one.
export function clock(second, withSeconds = true) {
  const d = new Date(second * 1000);
  const time = `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? ':' + two(d.getSeconds()) : ''}`;
  return d.toDateString() === new Date().toDateString() ? time : `${d.getDate()} ${d.toLocaleString('en-GB', { month: 'short' })} ${time}`;
}

// whole is a whole number of Extended JSON as a number, 0 without one; second is a date of it in seconds since 1970.
export const whole = (v) => Number(v?.$numberLong ?? v ?? 0);
export const second = (v) => Date.parse(v?.$date ?? '') / 1000;

// short writes a value of Extended JSON in the syntax of the shell.
export function short(v) {
  if (v && typeof v === 'object') {
    if ('$oid' in v) return `ObjectId("${v.$oid}")`;
    if ('$date' in v) return `ISODate("${typeof v.$date === 'object' ? new Date(Number(v.$date.$numberLong)).toISOString() : v.$date}")`;
    if ('$minKey' in v) return '−∞';
    if ('$maxKey' in v) return '+∞';
    for (const k of ['$numberLong', '$numberDecimal', '$numberInt', '$numberDouble']) if (k in v) return v[k];
    if (Array.isArray(v)) return `[${v.map(short).join(', ')}]`;
    return `{${Object.entries(v).map(([k, x]) => `${k}: ${short(x)}`).join(', ')}}`;
  }
  return typeof v === 'string' ? `"${v}"` : String(v);
}
