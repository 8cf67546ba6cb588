package regex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// pcre2Case is a line of testdata/pcre2.json: a pattern with options, a text, and the result of PCRE2 10.42.
type pcre2Case struct{ pattern, options, text, want string }

// eachPCRE2 calls f for each line of cases.
func eachPCRE2(t *testing.T, r io.Reader, f func(c pcre2Case)) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var c [4]string
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		f(pcre2Case{c[0], c[1], c[2], c[3]})
	}
}

func flagsOf(options string) Flags {
	has := func(o string) bool { return strings.Contains(options, o) }
	return Flags{Fold: has("i"), Multiline: has("m"), DotAll: has("s"), Extended: has("x")}
}

// result prints the result of a match as testdata/pcre2.py does.
func result(pattern, options, text string) string {
	tree, err := Parse(pattern, flagsOf(options))
	if err != nil {
		if strings.Contains(err.Error(), "not supported") {
			return "refused"
		}
		return "error"
	}
	m, err := tree.Compile().Find([]byte(text), 0, nil)
	switch {
	case err == ErrRecursion:
		return "fail -52"
	case err != nil:
		return "fail -47"
	case m == nil:
		return "none"
	}
	var parts []string
	for i := 0; i < len(m); i += 2 {
		part := "-"
		if m[i] >= 0 {
			part = fmt.Sprintf("%d-%d", m[i], m[i+1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// checkPCRE2 compares the results of cases with those of PCRE2. A pattern may be refused by name, and a recursion without
// end may be found where PCRE2 sees first that the text is too short.
func checkPCRE2(t *testing.T, r io.Reader) (n, refused int) {
	eachPCRE2(t, r, func(c pcre2Case) {
		n++
		got := result(c.pattern, c.options, c.text)
		switch {
		case got == "refused":
			refused++
		case got == "fail -52" && c.want == "none":
		case got != c.want:
			t.Errorf("%q %s on %q: %s, PCRE2: %s", c.pattern, c.options, c.text, got, c.want)
		}
	})
	return n, refused
}

// TestAsPCRE2 compares matches, groups and refusals with the answers of PCRE2 10.42 for patterns of every feature.
func TestAsPCRE2(t *testing.T) {
	f, err := os.Open("testdata/pcre2.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, refused := checkPCRE2(t, f); n < 3000 || refused > n/20 {
		t.Errorf("%d cases, %d refused", n, refused)
	}
}

// TestAsInstalledPCRE2 compares many more random patterns with the library of this machine.
func TestAsInstalledPCRE2(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("several 10,000 patterns: CANTLE_LONG")
	}
	for i, kind := range []string{"simple", "all", "verbs"} {
		out, err := exec.Command("python3", "testdata/pcre2.py", strconv.Itoa(1000+i), "20000", kind).Output()
		if err != nil {
			t.Skipf("python3 with libpcre2-8: %v", err)
		}
		checkPCRE2(t, strings.NewReader(string(out)))
	}
}
