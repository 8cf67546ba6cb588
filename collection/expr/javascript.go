package expr

import (
	"context"
	"errors"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/dop251/goja"
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

// scriptError is the error of a script, for clients. What was thrown makes its text with the
// script's own functions, so a guard watches.
func scriptError(err error) error {
	return mongoerr.New(mongoerr.JSInterpreterFailure, "%.500s", thrownText(err))
}

// thrownText is the text of an error, or says that what was thrown has none: it nests too deep.
func thrownText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "a JavaScript exception that cannot be shown"
		}
	}()
	return err.Error()
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
	left  left
	aside func(wait func()) error
	code  func(source string) (goja.Value, error) // code makes a function of what a BSON value has
}

// NewVM makes a VM with the types and helper functions that MongoDB scripts
// expect (ObjectId, NumberLong, ISODate, …).
func NewVM() (*VM, error) {
	vm := &VM{key: goja.NewSymbol("bson"), left: left{birth: heapBytes()}}
	return vm, vm.make()
}

// make makes the runtime, without what a command sets.
func (vm *VM) make() error {
	vm.rt, vm.funcs = goja.New(), map[*Script]goja.Callable{}
	vm.rt.SetMaxCallStackSize(scriptStackMax)
	if err := vm.prelude(); err != nil {
		return scriptError(err)
	}
	vm.left.globals = vm.globals()
	return nil
}

// SetScope defines global variables: the scope of mapReduce, or the functions that a database
// keeps. Errors: as Call.
func (vm *VM) SetScope(env *mql.Env, scope bson.Raw) error {
	vm.left.scoped = vm.left.scoped || scope.Len() > 0
	return vm.define(env, scope)
}

// define sets global variables.
func (vm *VM) define(env *mql.Env, scope bson.Raw) error {
	return vm.solid(env, func() error {
		for name, v := range scope.Fields() {
			if err := vm.rt.Set(string(name), vm.toJS(v)); err != nil {
				return err
			}
			if cause := vm.guard.why(); cause != nil {
				return cause
			}
		}
		return nil
	})
}

// OnEmit makes emit(key, value) call f: the map function of mapReduce.
func (vm *VM) OnEmit(f func(key, value bson.Value) error) { vm.emit = f }

// Call runs a script as a function with `this` (missing for none) and
// arguments. The result is made in a.
//
// Errors: JSInterpreterFailure for what the script throws, ExceededMemoryLimit,
// ExceededTimeLimit, and the context's cause.
func (vm *VM) Call(env *mql.Env, c *Script, a *bson.Arena, this bson.Value, args ...bson.Value) (bson.Value, error) {
	var out bson.Value
	err := vm.solid(env, func() error {
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
	if err == nil {
		err = vm.grow(env, vm.guard.base, heapBytes())
	}
	return out, err
}

// solid runs f, which runs scripts, in a lane for solid work and under the limits of a call.
func (vm *VM) solid(env *mql.Env, f func() error) error {
	done, err := env.Solid()
	if err != nil {
		return err
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
	vm.code = func(source string) (goja.Value, error) {
		c, err := compile(env, source)
		if err != nil {
			return nil, err
		}
		return vm.rt.RunProgram(c.program)
	}
	return vm.guarded(env, f)
}

// guard watches over one call.
type guard struct {
	mu    sync.Mutex
	rt    *goja.Runtime
	timer *time.Timer
	base  uint64 // heap at the start, or the smallest since
	ticks int64  // of watchEvery, with the time in which the command's scripts were compiled
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

// why is the reason for which the call was ended, nil if it was not.
func (g *guard) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
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
	case g.growth() > scriptHeapMax:
		g.interrupt(mongoerr.New(mongoerr.ExceededMemoryLimit, "JavaScript code used too much memory"))
	default:
		g.mu.Lock()
		if !g.done {
			g.timer.Reset(watchEvery)
		}
		g.mu.Unlock()
	}
}

// growth is by how much the heap is larger than when it was smallest during the call.
func (g *guard) growth() uint64 {
	now := heapBytes()
	g.base = min(g.base, now)
	return now - g.base
}

// guarded runs f under the limits and translates what goes wrong.
func (vm *VM) guarded(env *mql.Env, f func() error) (err error) {
	ctx := env.Context()
	g := &guard{rt: vm.rt, base: heapBytes(), ended: make(chan struct{}), wanted: env.SolidWanted,
		ticks: int64(env.Compiling(0) / watchEvery)}
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
			err = mongoerr.New(mongoerr.JSInterpreterFailure, "the JavaScript interpreter failed: %T", r)
		}
		if err != nil && g.cause != nil {
			err = g.cause
		}
	}()
	var known *mongoerr.Error
	if err = f(); err != nil && !errors.As(err, &known) {
		err = scriptError(err)
	}
	return err
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
