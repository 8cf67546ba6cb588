package path

import (
	"fmt"
	"testing"
)

func TestKeyPaths(t *testing.T) {
	for at, want := range map[string]string{
		"a": "[a] []", "0": "[0] []", "a.0": "[a.0 a] []", "a.b.0": "[a.b.0 a.b] []", "a.0.b": "[a.0.b a.b] [a]",
		"0.0.0": "[0.0.0 0.0 0.0 0] [0]", "a.00.b": "[a.00.b] []", "a.0.b.1.c": "[a.0.b.1.c a.b.1.c a.0.b.c a.b.c] [a a.0.b a.b]",
		"a.0.0.0.0.0.0": "too many",
	} {
		got := "too many"
		if own, whole, ok := Must(at).KeyPaths(); ok {
			got = fmt.Sprint(own, " ", whole)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}
