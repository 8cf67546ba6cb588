package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/serve/flags"
	"github.com/spf13/pflag"
)

// nowhere is the connection string of a server that does not exist: wrong values are found before a connection.
const nowhere = "mongodb://127.0.0.1:1/"

// wrongly runs a verb with wrong arguments, and checks that the status is 2 and that the error names what is wrong.
func wrongly(t *testing.T, want string, args ...string) {
	t.Helper()
	var out strings.Builder
	if code := verbStatus(t, args[0], "", &out, &out, args[1:]...); code != 2 || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "panic") {
		t.Errorf("%q: status %d, without %q\n%s", args, code, want, out.String())
	}
}

// TestWrongValuesOfAllFlags checks for the flags of all verbs that a value of the wrong type, a value that is no choice, a
// negative number and a timeout that is not positive end with status 2, and a sentence that names the flag.
func TestWrongValuesOfAllFlags(t *testing.T) {
	sample := filepath.Join(t.TempDir(), "sample.json")
	if err := os.WriteFile(sample, []byte("{a: 1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := map[string][]string{"estimate": {sample}, "completion": {"bash"}, "debug": {"zip", nowhere}, "users": {nowhere, sample}, "lint": {nowhere},
		"demo": nil, "version": nil, "cert": {"--dir", t.TempDir()}, "check": nil, "salvage": {"--out", filepath.Join(t.TempDir(), "x")},
		"partitions": {nowhere, "a.b"}, "advise": {nowhere, "a.b"}, "import": {nowhere, "a.b"}, "export": {nowhere, "a.b"}}
	for _, v := range Verbs() {
		behind, ok := arguments[v.Name()]
		if !ok {
			behind = []string{nowhere}
		}
		v.Flags().VisitAll(func(x *pflag.Flag) {
			var wrong []string
			switch kind := x.Value.Type(); {
			case x.Hidden:
			case flags.Choices(x) != nil:
				wrong = []string{"nonsense"}
			case slices.Contains([]string{"int", "int64", "uint64", "float64"}, kind):
				wrong = []string{"x", "-1"}
			case kind == "duration":
				wrong = []string{"x", "-1s"}
				if x.Name == "timeout" {
					wrong = append(wrong, "0s")
				}
			case kind == "bool":
				wrong = []string{"maybe"}
			}
			for _, value := range wrong {
				wrongly(t, "--"+x.Name, append([]string{v.Name(), "--" + x.Name + "=" + value}, behind...)...)
			}
		})
	}
}

// TestWrongValues checks wrong values of single flags, and wrong arguments.
func TestWrongValues(t *testing.T) {
	sample := filepath.Join(t.TempDir(), "sample.json")
	if err := os.WriteFile(sample, []byte("{_id: 1, device: 'd', at: 5, tags: [{x: 1}], more: {y: 1}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"advise --query { " + nowhere + " a.b", "--query {: "},
		{"advise --query {a:{$foo:1}} " + nowhere + " a.b", "$foo"},
		{"advise --query {$foo:1} " + nowhere + " a.b", "$foo"},
		{"advise --fields a,$foo " + nowhere + " a.b", `"$foo" is not the name of a field`},
		{"top --metric foo " + nowhere, `--metric is one of ru, reads`},
		{"top --every 0s " + nowhere, "--every is at least 100ms"},
		{"top --last 0s " + nowhere, "--last is positive"},
		{"top --collection orders " + nowhere, "--collection is database.collection"},
		{"top nonsense", "error parsing uri"},
		{"top http://", "is not the address of a console"},
		{"estimate --index { " + sample, "--index {: "},
		{"estimate --index {nosuch:1} " + sample, "the sample document has no field nosuch; its fields are _id, device, at, tags, more"},
		{"estimate --index {tags.y:1} " + sample, "no field tags.y"},
		{`estimate --index {"more.z.$**":1} ` + sample, "no field more.z"},
		{"estimate --update-fields at,nosuch " + sample, "no field nosuch"},
		{"estimate --shard-key nosuch " + sample, "no field nosuch"},
		{"demo --listen bad", "--listen bad: missing port in address"},
		{"demo --console-listen bad", "--console-listen bad: missing port in address"},
		{"demo --listen 127.0.0.1:99999", "--listen"},
		{"dump --query { --db a --collection b " + nowhere, "--query: "},
		{"export --query { " + nowhere + " a.b", "--query: "},
		{"export --sort { " + nowhere + " a.b", "--sort: "},
		{"import --type json --legacy --headerline " + nowhere + " a.b", "--headerline"},
		{"import --type csv --legacy --headerline " + nowhere + " a.b", "--legacy"},
		{"restore --at nonsense --from x " + nowhere, "nonsense"},
		{"cert --hosts a,,b", "--hosts has an empty name"},
		{"cert --days 99999999", "--days is from 1 to"},
		{"partitions --top 65 " + nowhere + " a.b", "--top is from 0 to 64"},
		{"lint --capabilities nonsense " + nowhere, "nonsense"},
	} {
		wrongly(t, c.want, strings.Fields(c.args)...)
	}
	for _, index := range []string{"{tags.x:1}", `{"more.$**":1}`, `{"$**":1}`, "{device:'hashed'}", "{_ts:1}", "{tags.0.x:1,at:-1}"} {
		var out strings.Builder
		if code := verbStatus(t, "estimate", "", &out, &out, "--index", index, sample); code != 0 {
			t.Errorf("--index %s: status %d\n%s", index, code, out.String())
		}
	}
}

// TestWrongURI checks that all verbs with a connection string refuse one that they cannot read with status 2, and that
// the error has no secret of it.
func TestWrongURI(t *testing.T) {
	for args, behind := range map[string]string{"ping": "", "doctor": "", "gateways": "", "partitions": "a.b", "top": "", "report": "", "bill": "", "advise": "a.b", "bench": "", "dump": "",
		"restore": "", "backup": "", "compact": "", "import": "a.b", "export": "a.b", "debug zip": ""} {
		words := append(strings.Fields(args), "mongodb://u:s3cr3t@h:x/?tlsCertificateKeyFilePassword=s3cr3t")
		var out strings.Builder
		want := 2
		if args == "doctor" { // a fault that it finds
			want = 1
		}
		if code := verbStatus(t, words[0], "", &out, &out, append(words[1:], strings.Fields(behind)...)...); code != want || strings.Contains(out.String(), "s3cr3t") || out.Len() == 0 {
			t.Errorf("%s: status %d\n%s", args, code, out.String())
		}
	}
}
