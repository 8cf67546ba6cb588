package top

import (
	"fmt"
	"math"
	"strings"
)

// blocks are an eighth of a line to all of it.
var blocks = []rune(" ▁▂▃▄▅▆▇█")

// shades are colours of 256 for what is cold to what is hot, in an order that grows lighter,
// so that they can be told apart by who sees no colours.
var shades = []int{236, 54, 90, 126, 162, 167, 173, 179, 221, 229}

// spark draws numbers as blocks of at most a width, the newest last; each block is the most of
// those it stands for. most is what a full block is.
func spark(values []float64, width int, most float64) string {
	var b strings.Builder
	for _, v := range squeeze(values, width) {
		b.WriteRune(blocks[level(v, most, len(blocks)-1)])
	}
	return b.String()
}

// squeeze makes at most n numbers of more, each the most of its part.
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

// level is where a number stands between 0 and most, from 0, only for nothing, to top.
func level(v, most float64, top int) int {
	if v <= 0 || most <= 0 {
		return 0
	}
	return max(1, min(top, int(math.Ceil(v/most*float64(top)))))
}

// warm draws numbers on a scale of equal ratios, as the console's heat map does: three powers
// of ten up to the most.
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

// num writes a number with three digits that matter.
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
