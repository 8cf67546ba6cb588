// Colours of heat, in which people with any kind of colour vision see the same order. Heat is
// light on dark ground (cividis), and dark red on light ground (ColorBrewer's YlOrRd).
const onDark = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56]];
const onLight = [[255, 237, 160], [254, 217, 118], [254, 178, 76], [253, 141, 60], [252, 78, 42], [227, 26, 28], [189, 0, 38], [128, 0, 38]];

export const isDark = () => {
  const t = document.documentElement.dataset.theme;
  return t ? t === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

// heatColours are 256 colours as 32-bit pixels; 0 is the ground.
export function heatColours() {
  const dark = isDark(), stops = dark ? onDark : onLight;
  const out = new Uint32Array(256);
  const ground = dark ? [16, 22, 30] : [244, 246, 249];
  for (let i = 0; i < 256; i++) {
    let c = ground;
    if (i > 0) {
      const at = (i / 255) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(at)), f = at - k;
      c = stops[k].map((v, j) => v + (stops[k + 1][j] - v) * f);
    }
    out[i] = (255 << 24) | (Math.round(c[2]) << 16) | (Math.round(c[1]) << 8) | Math.round(c[0]);
  }
  return out;
}

export const css = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
