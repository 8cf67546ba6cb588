package top

import (
	"fmt"
	"math"
	"strings"
)

// blocks are filled from nothing to the whole line, in eighths.
var blocks = []rune(" ▁▂▃▄▅▆▇█")

// shades are colours from the 256 colours of terminals, from cold to hot. They grow lighter, so that they can be
// distinguished even without colour vision.
var shades = []int{236, 54, 90, 126, 162, 167, 173, 179, 221, 229}

// spark draws numbers as at most width blocks, the newest last; each block shows the maximum of the numbers it
// stands for. most is the value of a full block.
func spark(values []float64, width int, most float64) string {
	var b strings.Builder
	for _, v := range squeeze(values, width) {
		b.WriteRune(blocks[level(v, most, len(blocks)-1)])
	}
	return b.String()
}

// squeeze reduces a list to at most n numbers, each the maximum of the neighbouring numbers that it replaces.
func squeeze(values []float64, n int) []float64 {
	if len(values) <= n || n <= 0 {
		return values
	}
	out := make([]float64, n)
	for i, v := range values {
		at := i * n / len(values)
		out[at] = max(out[at], v)
	}
	return out
}

// level returns the position of a number on a scale from 0 to top: only zero has 0, and most has top.
func level(v, most float64, top int) int {
	if v <= 0 || most <= 0 {
		return 0
	}
	return max(1, min(top, int(math.Ceil(v/most*float64(top)))))
}

// warm draws numbers as cells in colours, at most width of them, on a logarithmic scale as in the console's heat map:
// three powers of ten up to most.
func warm(values []float64, width int, most float64, colour bool) string {
	var b strings.Builder
	last := -1
	for _, v := range squeeze(values, width) {
		l := 0
		if v > 0 && most > 0 {
			l = 1 + int(math.Round((1+math.Log10(max(v/most, 0.001))/3)*float64(len(shades)-2)))
		}
		if !colour {
			b.WriteRune(blocks[min(len(blocks)-1, l)])
			continue
		}
		if l != last {
			fmt.Fprintf(&b, "\x1b[48;5;%dm", shades[l])
			last = l
		}
		b.WriteByte(' ')
	}
	if colour {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// num formats a number with three significant digits.
func num(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 1e9:
		return fmt.Sprintf("%.3gG", v/1e9)
	case a >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case a >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", v), "0"), ".0")
}
