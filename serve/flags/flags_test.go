package flags

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// set returns a flag set with one flag of each kind.
func set() *pflag.FlagSet {
	f := New("try")
	f.String("listen", "here", "`address` to listen on")
	f.Duration("drain", 24*time.Hour, "how long to wait, told at such length that no line of eighty-eight columns could hold it")
	f.Bool("auth", false, "ask for a login")
	f.IntP("parallel", "j", 4, "so `many` at a time")
	f.Float64("rate", 0, "a rate")
	f.Func("only", "a `pattern`", func(s string) error {
		if s == "bad" {
			return errors.New("has no star")
		}
		return nil
	})
	return f
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args, rest, listen string
		auth               bool
	}{
		{"", "", "here", false},
		{"a b", "a b", "here", false},
		{"--auth a --listen x b", "a b", "x", true},
		{"a -listen=x --auth", "a", "x", true},
		{"a -- --auth --listen", "a --auth --listen", "here", false},
		{"--auth -- b --listen", "b --listen", "here", true},
		{"- --auth", "-", "here", true},
		{"-listen -x -- -auth", "-auth", "-x", false},
		{"a -auth --listen --auth", "a", "--auth", true},
		{"--j 3 -j=5 -auth=true", "", "here", true},
	} {
		f := set()
		if err := Parse(f, strings.Fields(c.args)); err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if got := strings.Join(f.Args(), " "); got != c.rest || f.Lookup("listen").Value.String() != c.listen || (f.Lookup("auth").Value.String() == "true") != c.auth {
			t.Errorf("%q: rest %q, listen %v, auth %v", c.args, got, f.Lookup("listen").Value, f.Lookup("auth").Value)
		}
	}
}

func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"--lisen x":          "there is no flag --lisen; did you mean --listen?",
		"--zebra":            "there is no flag --zebra",
		"a --Auth":           "there is no flag --Auth; did you mean --auth?",
		"--listen":           "--listen needs a value",
		"--auth=perhaps":     `--auth is true or false, not "perhaps"`,
		"--parallel two":     `--parallel is a whole number, not "two"`,
		"--parallel -40 --x": "there is no flag -x",
		"-4":                 "there is no flag -4",
		"-lisen x":           "there is no flag --lisen; did you mean --listen?",
		"-j":                 "-j needs a value",
		"---x":               "bad flag syntax: ---x",
		"-j 1.5":             `--parallel is a whole number, not "1.5"`,
		"--rate fast":        `--rate is a number, not "fast"`,
		"--drain 5":          `--drain is a time such as 90s, 15m or 24h, not "5"`,
		"--only bad":         `--only "bad": has no star`,
		"--help":             pflag.ErrHelp.Error(),
		"a b --auth -h x":    pflag.ErrHelp.Error(),
	} {
		if err := Parse(set(), strings.Fields(args)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	if err := Set(set(), "drain", "5"); err == nil || !strings.HasPrefix(err.Error(), "--drain is a time") {
		t.Error(err)
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	Print(&out, set())
	want := `
Flags:
  --auth                ask for a login
  --drain duration      how long to wait, told at such length that no line of
                        eighty-eight columns could hold it (default 24h)
  -j, --parallel many   so many at a time (default 4)
  --listen address      address to listen on (default here)
  --only pattern        a pattern
  --rate number         a rate
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
