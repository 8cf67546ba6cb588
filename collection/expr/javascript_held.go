package expr

import (
	"runtime"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Memory of values that scripts store in a VM's globals, which are kept for later calls. The runtime does not
// count their memory, so it is estimated by the growth of the process' heap during the calls, garbage included.
// If the estimate is too large, settle determines how much of it is garbage.

// heldStep is the difference in bytes between the growth and what the command's memory counts of it, from which
// on the count is updated.
const heldStep = 1 << 20

// retainedMemory estimates the memory that the calls of a VM have left in it.
type retainedMemory struct {
	birth   uint64      // heap size when the VM was made, or the smallest since
	grown   uint64      // growth of the heap during the calls
	counted int         // bytes of grown that memory counts
	memory  *mql.Memory // of the first call that counted
	globals int         // number of names in the global object before the first call
	scoped  bool        // the command has set global variables
}

// grow adds the growth of the heap during a call, from from to to bytes, to the estimate of the memory that the
// VM holds.
// Errors: ExceededMemoryLimit (146) if the calls of one VM together hold too much.
func (vm *VM) grow(env *mql.Env, from, to uint64) error {
	l := &vm.retained
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

// count updates the count in the command's memory.
func (l *retainedMemory) count() error {
	n := int(l.grown) - l.counted
	if n < 0 {
		l.memory.ShrinkValues(-n)
	} else if err := l.memory.GrowValues(n, "what JavaScript keeps"); err != nil {
		return err
	}
	l.counted = int(l.grown)
	return nil
}

// settle determines how much of the heap's growth is garbage. If no call has set a global variable, it replaces
// the VM's runtime by a new one, which holds nothing.
func (vm *VM) settle(env *mql.Env) error {
	l := &vm.retained
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

// globals returns the number of global variables in the VM, without obj, the document of a call.
func (vm *VM) globals() int {
	n := 0
	for _, name := range vm.rt.GlobalObject().GetOwnPropertyNames() {
		if name != "obj" {
			n++
		}
	}
	return n
}
