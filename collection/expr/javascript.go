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
	// scriptTimeMax is the longest time that one call may run.
	// Manual: reference/parameters#mongodb-parameter-param.internalQueryJavaScriptFnTimeoutMillis is
	// longer, but a runaway function occupies a whole processor.
	scriptTimeMax = 10 * time.Second
	// scriptTimeContended replaces scriptTimeMax while other commands wait to run scripts.
	scriptTimeContended = 2 * time.Second
	// scriptStackMax is the maximal depth of calls.
	scriptStackMax = 400
	// scriptHeapMax is the maximal growth of the process' heap during one call.
	scriptHeapMax = 128 << 20
)

// scriptError returns the error of a script for clients. The text of a thrown value is computed by the script's
// own functions, so scriptError must be called under a guard, which limits them.
func scriptError(err error) error {
	return mongoerr.New(mongoerr.JSInterpreterFailure, "%.500s", thrownText(err))
}

// thrownText returns the text of a script's error. If computing the text panics because the thrown value nests
// too deep, it returns a placeholder.
func thrownText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = "a JavaScript exception that cannot be shown"
		}
	}()
	var overflow *goja.StackOverflowError
	if errors.As(err, &overflow) { // its own text has the place, but no reason
		return "InternalError: too much recursion :" + err.Error()
	}
	return err.Error()
}

// VM is a JavaScript interpreter that runs scripts, one at a time, without access to the host: no modules, no
// files, no network, no clock but Date. Globals that a script sets are kept for later calls. Not safe for
// concurrent use.
type VM struct {
	rt          *goja.Runtime
	funcs       map[*Script]goja.Callable
	emit        func(key, value bson.Value) error
	boxes       prototypes
	key         *goja.Symbol // of the property that holds an object's box
	guard       *guard       // of the current call
	regexps     regexps
	retained    retainedMemory
	withoutSlot func(wait func()) error
	code        func(source string) (goja.Value, error) // makes a function from the source in a BSON value
}

// NewVM makes a VM with the types and helper functions that MongoDB scripts
// expect (ObjectId, NumberLong, ISODate, …).
func NewVM() (*VM, error) {
	vm := &VM{key: goja.NewSymbol("bson"), retained: retainedMemory{birth: heapBytes()}}
	return vm, vm.make()
}

// make replaces the VM's runtime by a new one, without the settings of a command.
func (vm *VM) make() error {
	vm.rt, vm.funcs = goja.New(), map[*Script]goja.Callable{}
	vm.rt.SetMaxCallStackSize(scriptStackMax)
	if err := vm.prelude(); err != nil {
		return scriptError(err)
	}
	vm.retained.globals = vm.globals()
	return nil
}

// SetScope defines global variables for the scripts of a command: the scope of mapReduce.
// Errors: as Call.
func (vm *VM) SetScope(env *mql.Env, scope bson.Raw) error {
	vm.retained.scoped = vm.retained.scoped || scope.Len() > 0
	return vm.define(env, scope)
}

// define sets global variables.
func (vm *VM) define(env *mql.Env, scope bson.Raw) error {
	return vm.runUninterruptible(env, func() error {
		for name, v := range scope.Fields() {
			if err := vm.rt.Set(string(name), vm.toJS(v)); err != nil {
				return err
			}
			if cause := vm.guard.endCause(); cause != nil {
				return cause
			}
		}
		return nil
	})
}

// OnEmit sets f as the function that runs when a script calls emit(key, value), for the map function of
// mapReduce.
func (vm *VM) OnEmit(f func(key, value bson.Value) error) { vm.emit = f }

// Call runs a script as a function with `this` (missing for none) and arguments, and returns its result in the
// memory of a.
//
// Errors: JSInterpreterFailure for exceptions of the script; ExceededMemoryLimit; ExceededTimeLimit; the reason
// why the command must end.
func (vm *VM) Call(env *mql.Env, c *Script, a *bson.Arena, this bson.Value, args ...bson.Value) (bson.Value, error) {
	var out bson.Value
	err := vm.runUninterruptible(env, func() error {
		f, err := vm.function(c)
		if err != nil {
			return err
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

// Fold calls a script once for each list of arguments, with the result of the previous call, at first state, before
// them. It returns the last result in the memory of a. A result is converted only after the last call, or after the
// calls have grown the heap much, so that a state that grows with each call is not copied each time.
//
// Errors: as Call, whose limits apply to each call.
func (vm *VM) Fold(env *mql.Env, c *Script, a *bson.Arena, state bson.Value, lists []bson.Raw) (bson.Value, error) {
	for len(lists) > 0 {
		done := 0
		var current goja.Value
		var from, to uint64
		for last := false; !last; done++ {
			err := vm.runUninterruptible(env, func() error {
				f, err := vm.function(c)
				if err != nil {
					return err
				}
				if done == 0 {
					current, from = vm.toJS(state), vm.guard.base
				}
				values := []goja.Value{current}
				for v := range lists[done].Values() {
					values = append(values, vm.toJS(v))
				}
				if current, err = f(goja.Undefined(), values...); err != nil {
					return err
				}
				to = heapBytes()
				if last = done == len(lists)-1 || to > from+scriptHeapMax/4; last {
					state, err = vm.fromJS(a, current)
				}
				return err
			})
			if err != nil {
				return state, err
			}
		}
		if err := vm.grow(env, from, to); err != nil {
			return state, err
		}
		lists = lists[done:]
	}
	return state, nil
}

// function returns the function of a script in this VM.
func (vm *VM) function(c *Script) (goja.Callable, error) {
	if f, ok := vm.funcs[c]; ok {
		return f, nil
	}
	v, err := vm.rt.RunProgram(c.program)
	if err != nil {
		return nil, err
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, mongoerr.New(mongoerr.JSInterpreterFailure, "not a function: %.80s", c.source)
	}
	vm.funcs[c] = f
	return f, nil
}

// runUninterruptible runs f, which runs scripts, in an uninterruptible slot (see mql.Env.BeginUninterruptible)
// and under the limits of a call.
func (vm *VM) runUninterruptible(env *mql.Env, f func() error) error {
	done, err := env.BeginUninterruptible()
	if err != nil {
		return err
	}
	defer func() { done() }()
	vm.withoutSlot = func(wait func()) error { // without a slot
		done()
		done = func() {}
		wait()
		var err error
		done, err = env.BeginUninterruptible()
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

// guard enforces the limits of one call into a VM: time, growth of the heap, and the end of the command.
type guard struct {
	mu    sync.Mutex
	rt    *goja.Runtime
	timer *time.Timer
	base  uint64 // heap size in bytes at the start, or the smallest since
	ticks int64  // time of the call in units of watchEvery, plus the time in which the command's scripts were compiled
	done  bool
	cause error
	ended chan struct{} // closed with the first cause
	// othersWaiting reports whether other commands wait to run scripts.
	othersWaiting func() bool
}

// interrupt ends the running call with an error (cause), unless the call has ended already.
func (g *guard) interrupt(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.done && g.cause == nil {
		g.cause = cause
		g.rt.Interrupt(cause)
		close(g.ended)
	}
}

// endCause returns the cause with which the call was ended, nil if it was not.
func (g *guard) endCause() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// checkLimits ends the call if a limit is exceeded. A timer runs it every watchEvery.
func (g *guard) checkLimits() {
	g.mu.Lock()
	over := g.done
	g.ticks++
	most := scriptTimeMax
	if !over && g.othersWaiting() {
		most = scriptTimeContended
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

// growth returns by how many bytes the heap is larger than its smallest size during the call.
func (g *guard) growth() uint64 {
	now := heapBytes()
	g.base = min(g.base, now)
	return now - g.base
}

// guarded runs f under the limits of a call and converts its errors to errors for clients.
func (vm *VM) guarded(env *mql.Env, f func() error) (err error) {
	ctx := env.Context()
	g := &guard{rt: vm.rt, base: heapBytes(), ended: make(chan struct{}), othersWaiting: env.UninterruptibleWaiting,
		ticks: int64(env.Compiling(0) / watchEvery)}
	vm.guard = g
	g.mu.Lock()
	g.timer = time.AfterFunc(watchEvery, g.checkLimits)
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

// sleep is the function sleep of scripts: it waits for ms milliseconds, at most scriptTimeMax, or until a limit or
// the client ends the call. Observed: mongod 7.0; tests of clients use sleep to make a command slow.
func (vm *VM) sleep(ms float64) {
	if vm.guard == nil || !(ms > 0) {
		return
	}
	wait := time.NewTimer(time.Duration(min(ms, float64(scriptTimeMax/time.Millisecond))) * time.Millisecond)
	defer wait.Stop()
	// An error means that the command must end, which ends the call as well.
	_ = vm.withoutSlot(func() {
		select {
		case <-wait.C:
		case <-vm.guard.ended:
		}
	})
}

// watchEvery is the interval of the checks.
const watchEvery = 20 * time.Millisecond

// heapBytes returns the size of the heap in bytes: of its live objects and those not swept yet.
func heapBytes() uint64 {
	s := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64()
}
