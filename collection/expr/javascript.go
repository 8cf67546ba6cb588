package expr

import (
	"context"
	"errors"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"

	"github.com/dop251/goja"
)

// Limits of one call into JavaScript.
const (
	// scriptTimeMax is the longest run of one call.
	// Manual: reference/parameters#mongodb-parameter-param.internalQueryJavaScriptFnTimeoutMillis
	// is longer; a runaway function holds a whole processor.
	scriptTimeMax = 10 * time.Second
	// scriptStackMax is how deep calls may nest.
	scriptStackMax = 400
	// scriptHeapMax is by how much the process' heap may grow during one call.
	scriptHeapMax = 256 << 20
)

// Script is the source of a JavaScript function, compiled: the body of
// $function, $where, $accumulator or mapReduce. Immutable, safe for concurrent
// use; it runs in a VM.
type Script struct {
	program *goja.Program
	source  string
}

// CompileScript compiles a function: "function(a) { … }", an arrow function, or
// statements without a function around them, whose value is that of `return`
// or of the last expression.
//
// Errors: JSInterpreterFailure for a syntax error.
func CompileScript(source string) (*Script, error) {
	p, err := goja.Compile("", "("+source+"\n)", false)
	if err != nil {
		// Statements: with return first, then as they are.
		for _, text := range [2]string{"(function(){ return (" + source + "\n); })", "(function(){ " + source + "\n})"} {
			if p, err2 := goja.Compile("", text, false); err2 == nil {
				return &Script{p, source}, nil
			}
		}
		return nil, scriptError(err)
	}
	return &Script{p, source}, nil
}

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
}

// NewVM makes a VM with the types and helper functions that MongoDB scripts
// expect (ObjectId, NumberLong, ISODate, …).
func NewVM() (*VM, error) {
	vm := &VM{rt: goja.New(), funcs: map[*Script]goja.Callable{}}
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
	if err := env.Interrupted(); err != nil {
		return bson.Value{}, err
	}
	var out bson.Value
	err := vm.guarded(env.Context(), func() error {
		f, ok := vm.funcs[c]
		if !ok {
			v, err := vm.rt.RunProgram(c.program)
			if err != nil {
				return err
			}
			if f, ok = goja.AssertFunction(v); !ok {
				// A plain expression: `this.a > 3` without return.
				p, err := goja.Compile("", "(function(){ return ("+c.source+"\n); })", false)
				if err != nil {
					return err
				}
				if v, err = vm.rt.RunProgram(p); err != nil {
					return err
				}
				f, _ = goja.AssertFunction(v)
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

// guarded runs f under the limits and translates what goes wrong.
func (vm *VM) guarded(ctx context.Context, f func() error) (err error) {
	var cause atomic.Pointer[error]
	interrupt := func(err error) {
		if cause.CompareAndSwap(nil, &err) {
			vm.rt.Interrupt(err)
		}
	}
	stopContext := context.AfterFunc(ctx, func() { interrupt(context.Cause(ctx)) })
	base := heapBytes()
	ticks := int64(0)
	var watch *time.Timer
	watch = time.AfterFunc(watchEvery, func() {
		if ticks++; ticks > int64(scriptTimeMax/watchEvery) {
			interrupt(mongoerr.New(mongoerr.ExceededTimeLimit, "JavaScript code ran longer than %v", scriptTimeMax))
			return
		}
		if heapBytes() > base+scriptHeapMax {
			interrupt(mongoerr.New(mongoerr.ExceededMemoryLimit, "JavaScript code used too much memory"))
			return
		}
		watch.Reset(watchEvery)
	})
	defer func() {
		watch.Stop()
		stopContext()
		if r := recover(); r != nil {
			err = mongoerr.New(mongoerr.JSInterpreterFailure, "the JavaScript interpreter failed: %.200v", r)
		}
		if c := cause.Load(); c != nil && err != nil {
			err = *c
		}
		vm.rt.ClearInterrupt()
		var known *mongoerr.Error
		if err != nil && !errors.As(err, &known) && ctx.Err() == nil {
			err = scriptError(err)
		}
	}()
	return f()
}

// watchEvery is how often a running script is looked at.
const watchEvery = 20 * time.Millisecond

// heapBytes is the size of the live and not yet swept heap.
func heapBytes() uint64 {
	s := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64()
}
