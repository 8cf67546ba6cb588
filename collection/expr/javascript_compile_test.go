package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// Sources that the JavaScript library would compile for seconds or for ever are rejected before they are compiled. Many
// of these are as long as a source may be, the others short but slow to parse or compile.
func TestCompileRefused(t *testing.T) {
	chain := func(head, link, end string) string {
		return head + strings.Repeat(link, (sourceBytesMax-len(head)-len(end))/len(link)) + end
	}
	nest := func(open, middle, end string) string {
		n := (sourceBytesMax - len(middle)) / (len(open) + len(end))
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for _, source := range []string{
		"function() { return 1" + strings.Repeat("+1", 16_000) + " }",
		"function() { return 1" + strings.Repeat("+1", 32_000) + " }",
		chain("1", "+1", ""), chain("a", "+a", ""), chain("'x'", "+'x'", ""), chain("", "-+", "1"), chain("", "!", "a"),
		chain("a", "&&a", ""), chain("a", ".b", ""), chain("a", "()", ""), chain("a", "[0]", ""), chain("a", "``", ""),
		chain("", "a?b:", "c"), chain("", "a=", "1"), chain("", "a=>", "1"), chain("", "(a,b)=>", "1"), chain("2", "**2", ""), chain("1", "<1", ""),
		chain("", "if(a)", "; return 1"), chain("", "if(a){}else ", "; return 1"), chain("", "for(;;)", "; return 1"), chain("", "new ", "a"),
		nest("(", "1", ")"), nest("[", "", "]"), nest("a(", "", ")"), nest("({a:", "1", "})"), nest("`${", "1", "}`"), nest("(function(){", "", "})"),
		nest("{", "", "}") + "return 1", nest("try{", "", "}catch(e){}") + "return 1", nest("switch(a){case 1:", "", "}"),
		strings.Repeat("1"+strings.Repeat("+1", 900)+";\n", 30),
		// The time for these doubles with each repetition.
		"1" + strings.Repeat("||1", 40), "0" + strings.Repeat("&&0", 40), "null" + strings.Repeat("??null", 40),
		strings.Repeat("(a=", 40) + "1" + strings.Repeat(")=>1", 40), strings.Repeat("([a=", 40) + "1" + strings.Repeat("])=>1", 40),
		strings.Repeat("async(a=", 40) + "1" + strings.Repeat(")=>1", 40),
		// It also doubles after a syntax error, because the parser continues from there.
		"@ " + strings.Repeat("(a=", 40) + "1" + strings.Repeat(")=>1", 40),
		"/" + strings.Repeat("a{999}", 300) + "/", "/" + strings.Repeat("(?:", 60) + "a" + strings.Repeat("){2}", 60) + "/",
	} {
		before := scripts.compiled
		if _, err := CompileScript(mql.NewEnv(t.Context()), source); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			t.Errorf("%.40s…: %v", source, err)
		}
		if scripts.compiled != before {
			t.Errorf("%.40s… was compiled", source)
		}
	}
}

// Ordinary sources are compiled.
func TestCompileAllowed(t *testing.T) {
	for _, source := range []string{
		"1" + strings.Repeat(" + 1", 900),
		"function() { var f = (a, {b}, [c] = [1]) => a + b + c; return 010 }", // only the library can parse it
		"function() { return '' " + strings.Repeat("\n + 'a line of text'", 500) + " }",
		"function() { return true" + strings.Repeat(" && this.a", 100) + " }",
		"function() { " + strings.Repeat("if (this.a) { f(x => [x, (y, z = () => 1) => y]) } else ", 100) + "{ return 1 } }",
		"function() { return [" + strings.Repeat("{a: [1, 2], b: 'c'}, ", 2000) + "] }",
		"function() { " + strings.Repeat("var f = (a, {b}, c = [1]) => a + b + c; list.map((x) => x.y).filter((y) => /^[0-9]{1,3}(a|b)$/.test(y));\n", 400) + " }",
	} {
		if _, err := CompileScript(mql.NewEnv(t.Context()), source); err != nil {
			t.Errorf("%.60s…: %v", source, err)
		}
	}
}

// The body of a function is compiled once, for all commands that send it; and the cache of compiled scripts
// does not grow without limit.
func TestCompileOnce(t *testing.T) {
	const source = "function() { return 'compiled once' }"
	first, err := CompileScript(mql.NewEnv(t.Context()), source)
	if err != nil {
		t.Fatal(err)
	}
	before := scripts.compiled
	for range 3 {
		if again, err := CompileScript(mql.NewEnv(t.Context()), strings.Clone(source)); again != first || err != nil {
			t.Errorf("%p, %v, want %p", again, err, first)
		}
	}
	if scripts.compiled != before {
		t.Error("compiled again")
	}
	for i := range 2 * cachedScriptsMax {
		if _, err := CompileScript(mql.NewEnv(t.Context()), fmt.Sprint("return ", i)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 && scripts.get(source) != first {
			t.Fatal("what is asked for was let go")
		}
	}
	if n := len(scripts.bySource); n > cachedScriptsMax || n != scripts.order.Len() {
		t.Errorf("%d scripts, %d in order", n, scripts.order.Len())
	}
	big := "return [" + strings.Repeat("{a: 1},", 7000) + "%d]"
	for i := range 40 {
		if _, err := CompileScript(mql.NewEnv(t.Context()), fmt.Sprintf(big, i)); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0
	for _, e := range scripts.bySource {
		sum += e.Value.(*Script).bytes
	}
	if sum != scripts.bytes || sum > cachedBytesMax {
		t.Errorf("%d bytes, %d are counted", sum, scripts.bytes)
	}
}

// endsAfter is a context whose Err returns nil looks times, and then an error.
type endsAfter struct {
	context.Context
	looks int
}

var errHungUp = errors.New("hung up")

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return errHungUp
	}
	return nil
}

// A command with many large JavaScript functions ends between the compilation of two of them, and while one is
// parsed. The time of compilation counts as time of the command's scripts, its memory as memory of the command.
func TestCompileEnds(t *testing.T) {
	large := func(i int) string {
		return fmt.Sprint("function() { return ", i, strings.Repeat("; a = b + c", 5000), " }")
	}
	compiled := func(env *mql.Env) (n int, err error) {
		before := scripts.compiled
		for i := range 250 {
			if _, err = CompileScript(env, large(i)); err != nil {
				break
			}
		}
		return scripts.compiled - before, err
	}
	ctx := &endsAfter{t.Context(), 10}
	if n, err := compiled(mql.NewEnv(ctx)); n > 10 || err == nil {
		t.Errorf("after it hung up: %d compiled, %v", n, err)
	}
	ctx = &endsAfter{t.Context(), 3}
	if n, err := compiled(mql.NewEnv(ctx)); n > 0 || err == nil {
		t.Errorf("while the first is parsed: %d compiled, %v", n, err)
	}
	env := mql.NewEnv(t.Context())
	env.Compiling(scriptTimeMax + 1)
	if n, err := compiled(env); n > 0 || mongoerr.CodeOf(err) != mongoerr.ExceededTimeLimit {
		t.Errorf("after too long: %d compiled, %v", n, err)
	}
	vm, err := NewVM()
	if err != nil {
		t.Fatal(err)
	}
	c, err := CompileScript(mql.NewEnv(t.Context()), "for (;;) {}")
	if err != nil {
		t.Fatal(err)
	}
	env = mql.NewEnv(t.Context())
	env.Compiling(scriptTimeMax - watchEvery)
	begun := time.Now()
	if _, err := vm.Call(env, c, &bson.Arena{}, bson.Value{}); mongoerr.CodeOf(err) != mongoerr.ExceededTimeLimit || time.Since(begun) > scriptTimeMax {
		t.Errorf("a run after compiling took all of its time: %v", err)
	}
	env = mql.NewEnv(t.Context())
	env.Memory.Reset(mql.StageBytesMax, ratelimit.NewMemory(8<<20))
	defer env.Memory.Release()
	if n, err := compiled(env); n > 20 || mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
		t.Errorf("in 8 MB: %d compiled, %v", n, err)
	}
}

// The text of a JavaScript exception is computed by functions of the script, which may fail or never return: the call
// ends with an error all the same.
func TestThrown(t *testing.T) {
	deep := "function() { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; throw a }"
	if got := runScript(t, t.Context(), deep); !strings.HasPrefix(got, "JSInterpreterFailure") || len(got) > 600 {
		t.Errorf("a deep value: %.200s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := runScript(t, ctx, "throw {toString: function() { for (;;) {} }}"); got != context.DeadlineExceeded.Error() {
		t.Errorf("an endless text: %.200s", got)
	}
	if got := runScript(t, t.Context(), "throw {toString: function() { throw this }}"); !strings.HasPrefix(got, "JSInterpreterFailure") {
		t.Errorf("a text that throws: %.200s", got)
	}
}

// A stored JavaScript function that runs code when it is loaded is under the limits of a call.
func TestScopeEnds(t *testing.T) {
	vm, err := NewVM()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	b := bson.NewBuilder(nil)
	b.Value("f", codeValue("function() { for (;;) {} }()"))
	if err := vm.SetScope(mql.NewEnv(ctx), b.Doc()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
