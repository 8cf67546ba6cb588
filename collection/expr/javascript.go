package expr

import (
	"context"
	"errors"
	"regexp"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	jsparser "github.com/dop251/goja/parser"
)

// Limits of one call into JavaScript.
const (
	// scriptTimeMax is the longest run of one call.
	// Manual: reference/parameters#mongodb-parameter-param.internalQueryJavaScriptFnTimeoutMillis
	// is longer; a runaway function holds a whole processor.
	scriptTimeMax = 10 * time.Second
	// scriptTimeWanted is that while others wait to run theirs.
	scriptTimeWanted = 2 * time.Second
	// scriptStackMax is how deep calls may nest.
	scriptStackMax = 400
	// scriptHeapMax is by how much the process' heap may grow during one call.
	scriptHeapMax = 128 << 20
)

// Script is the source of a JavaScript function, compiled: the body of
// $function, $where, $accumulator or mapReduce. Immutable, safe for concurrent
// use; it runs in a VM.
type Script struct {
	program *goja.Program
	source  string
}

// Limits of a source text. The parser recurses and is quadratic in nesting.
const (
	sourceBytesMax   = 64 << 10
	sourceOpenersMax = 5000
)

// unsafeSource finds what would run without limits: regular expressions that
// need backtracking, and integers of any size.
var unsafeSource = regexp.MustCompile(`\(\?[=!<]|\\[1-9k]|(?:^|[^\w$.])(?:0[xXoObB])?[0-9a-fA-F_]+n\b`)

// CompileScript compiles a function: "function(a) { … }", an arrow function, or
// statements without a function around them, whose value is that of `return`
// or of the last expression. Comments may stand before.
//
// Errors: JSInterpreterFailure for a syntax error, for more than 64 KiB of
// source, and for look-around, back-references and big integers, which the
// limits of a run do not reach.
func CompileScript(source string) (*Script, error) {
	openers := 0
	for i := range len(source) {
		if strings.IndexByte("([{", source[i]) >= 0 || source[i] == '>' && i > 0 && source[i-1] == '=' {
			openers++
		}
	}
	switch {
	case len(source) > sourceBytesMax || openers > sourceOpenersMax:
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure, "JavaScript code is too long: %d bytes", len(source))
	case unsafeSource.MatchString(source):
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure,
			"JavaScript code must not use look-around, back-references or big integers: %.40q", unsafeSource.FindString(source))
	}
	text := source[len(comments.FindString(source)):]
	text = strings.TrimRight(text, "; \t\r\n")
	form := "(" + text + "\n)"
	if !functionStart.MatchString(text) {
		form = "(function(){ return (" + text + "\n); })"
	}
	p, err := goja.Compile("", form, false)
	if err != nil {
		var err2 error
		if p, err2 = goja.Compile("", statements(text), false); err2 != nil {
			return nil, scriptError(err)
		}
	}
	return &Script{p, source}, nil
}

// statements puts a function around statements. The last is its value if it is an expression.
func statements(text string) string {
	const head = "(function(){ "
	form := head + text + "\n})"
	program, err := jsparser.ParseFile(nil, "", form, 0, jsparser.WithDisableSourceMaps)
	if err != nil {
		return form
	}
	whole, ok := program.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return form
	}
	f, ok := whole.Expression.(*ast.FunctionLiteral)
	if !ok || len(f.Body.List) == 0 {
		return form
	}
	last, ok := f.Body.List[len(f.Body.List)-1].(*ast.ExpressionStatement)
	if !ok {
		return form
	}
	at := int(last.Idx0()) - 1 // they count from 1
	return form[:at] + "return " + form[at:]
}

// comments are what may stand before a function.
var comments = regexp.MustCompile(`^(?:\s+|//[^\n]*(?:\n|$)|/\*(?s:.*?)\*/)*`)

// functionStart tells a function from statements.
var functionStart = regexp.MustCompile(`^(?:async\s+)?(?:function\b|\([\w\s,.={}\[\]:$]*\)\s*=>|[\w$]+\s*=>)`)

// Source is the text the script was compiled from.
func (c *Script) Source() string { return c.source }

func scriptError(err error) error {
	var x *goja.Exception
	if errors.As(err, &x) {
		return mongoerr.New(mongoerr.JSInterpreterFailure, "%.500s", x.Error())
	}
	return mongoerr.New(mongoerr.JSInterpreterFailure, "%.500s", err.Error())
}

// VM runs scripts, one at a time, without access to the host: no modules, no
// files, no network, no clock but Date. Globals that a script sets stay for
// later calls. Not safe for concurrent use.
type VM struct {
	rt    *goja.Runtime
	funcs map[*Script]goja.Callable
	emit  func(key, value bson.Value) error
	boxes prototypes
	key   *goja.Symbol // of the property that holds a box
	guard *guard       // of the call under way
	aside func(wait func()) error
}

// NewVM makes a VM with the types and helper functions that MongoDB scripts
// expect (ObjectId, NumberLong, ISODate, …).
func NewVM() (*VM, error) {
	vm := &VM{rt: goja.New(), funcs: map[*Script]goja.Callable{}, key: goja.NewSymbol("bson")}
	vm.rt.SetMaxCallStackSize(scriptStackMax)
	if err := vm.prelude(); err != nil {
		return nil, scriptError(err)
	}
	return vm, nil
}

// SetScope defines global variables: the scope of mapReduce or of code with scope.
func (vm *VM) SetScope(scope bson.Raw) error {
	for name, v := range scope.Fields() {
		if err := vm.rt.Set(string(name), vm.toJS(v)); err != nil {
			return scriptError(err)
		}
	}
	return nil
}

// OnEmit makes emit(key, value) call f: the map function of mapReduce.
func (vm *VM) OnEmit(f func(key, value bson.Value) error) { vm.emit = f }

// Call runs a script as a function with `this` (missing for none) and
// arguments. The result is made in a.
//
// Errors: JSInterpreterFailure for what the script throws, ExceededMemoryLimit,
// ExceededTimeLimit, and the context's cause.
func (vm *VM) Call(env *mql.Env, c *Script, a *bson.Arena, this bson.Value, args ...bson.Value) (bson.Value, error) {
	done, err := env.Solid()
	if err != nil {
		return bson.Value{}, err
	}
	defer func() { done() }()
	vm.aside = func(wait func()) error { // without a lane
		done()
		done = func() {}
		wait()
		var err error
		done, err = env.Solid()
		return err
	}
	var out bson.Value
	err = vm.guarded(env, func() error {
		f, ok := vm.funcs[c]
		if !ok {
			v, err := vm.rt.RunProgram(c.program)
			if err != nil {
				return err
			}
			if f, ok = goja.AssertFunction(v); !ok {
				return mongoerr.New(mongoerr.JSInterpreterFailure, "not a function: %.80s", c.source)
			}
			vm.funcs[c] = f
		}
		self := goja.Value(goja.Undefined())
		if !this.IsMissing() {
			self = vm.toJS(this)
			if err := vm.rt.Set("obj", self); err != nil {
				return err
			}
		}
		values := make([]goja.Value, len(args))
		for i, v := range args {
			values[i] = vm.toJS(v)
		}
		v, err := f(self, values...)
		if err != nil {
			return err
		}
		out, err = vm.fromJS(a, v)
		return err
	})
	return out, err
}

// guard watches over one call.
type guard struct {
	mu    sync.Mutex
	rt    *goja.Runtime
	timer *time.Timer
	base  uint64 // heap at the start
	ticks int64
	done  bool
	cause error
	ended chan struct{} // closed with the first cause
	// wanted says that others wait for their call.
	wanted func() bool
}

// interrupt ends the call, if it is not over, for a reason.
func (g *guard) interrupt(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.done && g.cause == nil {
		g.cause = cause
		g.rt.Interrupt(cause)
		close(g.ended)
	}
}

// look checks the limits from time to time.
func (g *guard) look() {
	g.mu.Lock()
	over := g.done
	g.ticks++
	most := scriptTimeMax
	if !over && g.wanted() {
		most = scriptTimeWanted
	}
	late := g.ticks > int64(most/watchEvery)
	g.mu.Unlock()
	switch {
	case over:
	case late:
		g.interrupt(mongoerr.New(mongoerr.ExceededTimeLimit, "JavaScript code ran longer than %v", most))
	case heapBytes() > g.base+scriptHeapMax:
		g.interrupt(mongoerr.New(mongoerr.ExceededMemoryLimit, "JavaScript code used too much memory"))
	default:
		g.mu.Lock()
		if !g.done {
			g.timer.Reset(watchEvery)
		}
		g.mu.Unlock()
	}
}

// guarded runs f under the limits and translates what goes wrong.
func (vm *VM) guarded(env *mql.Env, f func() error) (err error) {
	ctx := env.Context()
	g := &guard{rt: vm.rt, base: heapBytes(), ended: make(chan struct{}), wanted: env.SolidWanted}
	vm.guard = g
	g.mu.Lock()
	g.timer = time.AfterFunc(watchEvery, g.look)
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { g.interrupt(context.Cause(ctx)) })
	defer func() {
		stop()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.done = true
		g.timer.Stop()
		vm.rt.ClearInterrupt()
		if r := recover(); r != nil {
			err = mongoerr.New(mongoerr.JSInterpreterFailure, "the JavaScript interpreter failed: %.200v", r)
		}
		var known *mongoerr.Error
		switch {
		case err == nil:
		case g.cause != nil:
			err = g.cause
		case !errors.As(err, &known):
			err = scriptError(err)
		}
	}()
	return f()
}

// sleep waits so many milliseconds, or until the call is ended by a limit or its
// client. Observed: mongod 7.0; tests of clients use it to make a command slow.
func (vm *VM) sleep(ms float64) {
	if vm.guard == nil || !(ms > 0) {
		return
	}
	wait := time.NewTimer(time.Duration(min(ms, float64(scriptTimeMax/time.Millisecond))) * time.Millisecond)
	defer wait.Stop()
	// An error is that of the command's end, which ends the call as well.
	_ = vm.aside(func() {
		select {
		case <-wait.C:
		case <-vm.guard.ended:
		}
	})
}

// watchEvery is how often a running script is looked at.
const watchEvery = 20 * time.Millisecond

// heapBytes is the size of the live and not yet swept heap.
func heapBytes() uint64 {
	s := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64()
}
