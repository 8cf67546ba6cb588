package columns

// Clip cuts a text to n characters, the last of which is then an ellipsis. A shorter text stays unchanged.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
