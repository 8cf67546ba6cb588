// Colours of heat: cividis, which people with any kind of colour vision read the same way,
// from what lies behind it to what stands out, so from dark to light on dark ground and
// the other way on light ground.
const stops = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56]];

export const isDark = () => {
  const t = document.documentElement.dataset.theme;
  return t ? t === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

// heatColours are 256 colours as 32-bit pixels; 0 is the ground.
export function heatColours() {
  const dark = isDark();
  const out = new Uint32Array(256);
  const ground = dark ? [16, 22, 30] : [244, 246, 249];
  for (let i = 0; i < 256; i++) {
    let c = ground;
    if (i > 0) {
      const at = ((dark ? i : 255 - i) / 255) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(at)), f = at - k;
      c = stops[k].map((v, j) => v + (stops[k + 1][j] - v) * f);
    }
    out[i] = (255 << 24) | (Math.round(c[2]) << 16) | (Math.round(c[1]) << 8) | Math.round(c[0]);
  }
  return out;
}

export const css = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
