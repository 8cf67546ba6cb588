package expr

import (
	"runtime"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// What scripts leave in a VM stays for later calls. The runtime does not count it, so it is
// taken for what the process' heap grew by during the calls, garbage included; once that is too
// much, settle finds out how much of it is garbage.

// heldStep is by how much the growth must differ from what the command's memory counts.
const heldStep = 1 << 20

// left is what the calls of a VM may have left in it.
type left struct {
	birth   uint64      // heap when the VM was made, or the smallest that was seen since
	grown   uint64      // by how much the heap grew during the calls
	counted int         // of grown, by memory
	memory  *mql.Memory // of the first call that counted
	globals int         // names in the global object before the first call
	scoped  bool        // the command gave global variables
}

// grow adds by how much the heap grew during a call.
// Errors: ExceededMemoryLimit (146) for what the calls of one VM hold in sum.
func (vm *VM) grow(env *mql.Env, from, to uint64) error {
	l := &vm.left
	l.birth = min(l.birth, from, to)
	if to > from {
		l.grown += to - from
	}
	if l.grown < uint64(l.counted)+heldStep {
		return nil
	}
	if l.memory == nil {
		l.memory = env.Memory
	}
	if l.grown <= scriptHeapMax && l.count() == nil {
		return nil
	}
	if err := vm.settle(env); err != nil {
		return err
	}
	if l.grown > scriptHeapMax {
		return mongoerr.New(mongoerr.ExceededMemoryLimit, "JavaScript code of one command keeps too much memory in global variables: %d bytes are allowed", scriptHeapMax)
	}
	return l.count()
}

// count makes the command's memory count what the calls have left.
func (l *left) count() error {
	n := int(l.grown) - l.counted
	if n < 0 {
		l.memory.LetGo(-n)
	} else if err := l.memory.Hold(n, "what JavaScript keeps"); err != nil {
		return err
	}
	l.counted = int(l.grown)
	return nil
}

// settle finds out what of the growth is garbage. A VM in which no call has left a global
// variable is made anew, and holds nothing then.
func (vm *VM) settle(env *mql.Env) error {
	l := &vm.left
	if !l.scoped && vm.globals() == l.globals {
		if err := vm.make(); err != nil {
			return err
		}
		if err := vm.serve(env); err != nil {
			return err
		}
		l.birth, l.grown = heapBytes(), 0
		return l.count()
	}
	runtime.GC()
	live := heapBytes()
	l.birth = min(l.birth, live)
	l.grown = min(l.grown, live-l.birth)
	return nil
}

// globals is how many global variables there are, beside the document of the call.
func (vm *VM) globals() int {
	n := 0
	for _, name := range vm.rt.GlobalObject().GetOwnPropertyNames() {
		if name != "obj" {
			n++
		}
	}
	return n
}
