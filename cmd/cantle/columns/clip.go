package columns

// Clip cuts a text to n characters, the last of which then shows that it was.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
