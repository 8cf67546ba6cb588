package casefile

import "strings"

// diffLinesMax bounds the quadratic comparison; longer texts are shown whole.
const diffLinesMax = 2000

// Diff compares two texts line by line, and returns a text for the error of a test: lines that both have begin with
// two spaces, lines only in want with "- ", lines only in got with "+ ". If a text has more than diffLinesMax lines,
// all lines count as different. Diff returns "" if the texts are equal.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	a, b := splitLines(want), splitLines(got)
	var out []string
	if len(a) > diffLinesMax || len(b) > diffLinesMax {
		out = append(prefixed("- ", a), prefixed("+ ", b)...)
		return strings.Join(out, "\n")
	}
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	out = append(out, prefixed("- ", a[i:])...)
	out = append(out, prefixed("+ ", b[j:])...)
	return strings.Join(out, "\n")
}

// splitLines splits a text at its newlines: the empty text has no lines, and a newline at the end is followed by an
// empty line.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// prefixed puts mark in front of each line.
func prefixed(mark string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = mark + line
	}
	return out
}
