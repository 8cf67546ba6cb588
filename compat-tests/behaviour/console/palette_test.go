package console

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"slices"
	"testing"
)

// coloursMax is the largest number of colours in a palette of PNG.
const coloursMax = 256

// writeSmall writes a picture of the docs with a palette, in 40 % of the bytes: the docs are embedded in the program,
// and pictures do not compress further.
func writeSmall(t *testing.T, file string, picture []byte) {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&out, withPalette(m)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withPalette returns m with the colours of a palette. A picture of text has some thousand colours, most of them on the
// edges of letters. Each step adds the colour whose points are furthest from the palette in sum.
func withPalette(m image.Image) *image.Paletted {
	b := m.Bounds()
	points := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			points[rgba(m, x, y)]++
		}
	}
	type candidate struct {
		colour          color.RGBA
		points, squares int // squares: the squared distance to the nearest colour of the palette
	}
	var all []candidate
	for c, n := range points {
		all = append(all, candidate{c, n, 1 << 20})
	}
	slices.SortFunc(all, func(x, y candidate) int { return bytes.Compare(channels(x.colour), channels(y.colour)) })
	var p color.Palette
	for len(p) < min(coloursMax, len(all)) {
		best := slices.MaxFunc(all, func(x, y candidate) int { return x.points*x.squares - y.points*y.squares })
		p = append(p, best.colour)
		for i := range all {
			all[i].squares = min(all[i].squares, distance(all[i].colour, best.colour))
		}
	}
	out := image.NewPaletted(b, p)
	draw.Draw(out, b, m, b.Min, draw.Src)
	return out
}

func rgba(m image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)
}

func channels(c color.RGBA) []byte { return []byte{c.R, c.G, c.B, c.A} }

func distance(a, b color.RGBA) int {
	sum := 0
	for i, x := range channels(a) {
		d := int(x) - int(channels(b)[i])
		sum += d * d
	}
	return sum
}

// TestPalette checks that a picture with more colours than a palette holds loses less than can be seen, and that one
// with fewer loses nothing.
func TestPalette(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			m.SetRGBA(x, y, color.RGBA{uint8(x * 4), uint8(y * 4), 128, 255})
		}
	}
	worst := func(m image.Image) int {
		small, all := withPalette(m), 0
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				all = max(all, distance(rgba(m, x, y), rgba(small, x, y)))
			}
		}
		return all
	}
	if d := worst(m); d > 24*24 {
		t.Errorf("a colour differs by the square root of %d", d)
	}
	if d := worst(m.SubImage(image.Rect(0, 0, 16, 16))); d != 0 {
		t.Errorf("one of 256 colours differs by the square root of %d", d)
	}
}
