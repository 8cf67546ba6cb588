package expr

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// The memory that a command's JavaScript calls keep in global variables is limited in sum, by the VM's limit
// and by the memory of all commands. Freed memory is not counted, and variables are kept.
func TestScriptKeeps(t *testing.T) {
	const keep = "function() { if (typeof kept == 'undefined') kept = []; kept.push('x'.repeat(3200000)); return kept.length }"
	const drop = "function() { var a = 'x'.repeat(3200000); calls = (typeof calls == 'undefined' ? 0 : calls) + 1; return calls }"
	const local = "function() { return 'x'.repeat(3200000).length }"
	const hide = "function() { Array.kept = [Array.kept, 'x'.repeat(3200000)]; return 3200000 }"
	const most = 80 // calls, of 3.2 MB: together twice the limit of a VM
	for _, c := range []struct {
		name, source string
		shared       int64
		fails        bool
		last         float64
	}{
		{"kept", keep, 1 << 30, true, 0},
		{"kept beside little memory", keep, 32 << 20, true, 0},
		{"dropped beside a variable", drop, 1 << 30, false, most},
		{"dropped", local, 1 << 30, false, 3200000},
		{"hidden beside little memory", hide, 32 << 20, false, 3200000},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := mql.NewEnv(t.Context())
			shared := ratelimit.NewMemory(c.shared)
			env.Memory.Reset(mql.StageBytesMax, shared)
			script, err := CompileScript(env, c.source)
			if err != nil {
				t.Fatal(err)
			}
			vm, err := NewVM()
			if err != nil {
				t.Fatal(err)
			}
			if err := vm.serve(env); err != nil {
				t.Fatal(err)
			}
			start, peak := heapBytes(), uint64(0)
			var v bson.Value
			for range most {
				var a bson.Arena
				if v, err = vm.Call(env, script, &a, bson.Value{}); err != nil {
					break
				}
				peak = max(peak, vm.retained.grown)
			}
			if got, _ := v.AsFloat(); c.fails != (mongoerr.CodeOf(err) == mongoerr.ExceededMemoryLimit) || !c.fails && got != c.last {
				t.Errorf("%v, %v", got, err)
			}
			if uint64(shared.Stats().Peak) > min(uint64(c.shared), scriptHeapMax+heldStep) || peak >= scriptHeapMax+heldStep {
				t.Errorf("%d bytes were counted, grown by %d from %d", shared.Stats().Peak, peak, start)
			}
			env.Memory.Release()
			if used := shared.Stats().Used; used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
}
