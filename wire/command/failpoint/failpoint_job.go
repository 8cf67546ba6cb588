package failpoint

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// killAtJobStepPoint is the name of a fail point that MongoDB does not have: when a background job reaches a step,
// the server process kills itself as kill -9 would. Tests then check that no data is lost.
//
//	{configureFailPoint: "killAtJobStep", mode: "alwaysOn", data: {step: "copied", pauseMS: 5}}
const killAtJobStepPoint = "killAtJobStep"

// jobKill holds the state of the fail point killAtJobStep. It is safe for concurrent use.
type jobKill struct {
	mu    sync.Mutex
	mode  failMode
	step  string
	pause time.Duration // the delay before the process is killed, in which other work continues
}

// set turns the fail point killAtJobStep on or off; data names the step, which need not exist, and the pause. Errors:
// TypeMismatch (14) for the type of a value, BadValue (2) for an unknown field of data.
func (k *jobKill) set(mode failMode, data bson.Raw) error {
	step, pause := "", int64(0)
	for it := data.Iter(); it.Next(); {
		ok := false
		switch string(it.Name) {
		case "step":
			step, ok = it.Value.Str()
			step = strings.Clone(step)
		case "pauseMS":
			pause, ok = it.Value.TruncInt64()
		default:
			return mongoerr.New(mongoerr.BadValue, "unknown data of %s: %s", killAtJobStepPoint, it.Name)
		}
		if !ok {
			return mongoerr.WrongType(killAtJobStepPoint+"."+string(it.Name), it.Value.Type.String(), "another type")
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mode, k.step, k.pause = mode, step, time.Duration(pause)*time.Millisecond
	return nil
}

// at is called at each step of a job.
func (k *jobKill) at(step string) {
	k.mu.Lock()
	yes := false
	if k.step == step && k.mode != (failMode{}) {
		yes, _ = k.mode.fires()
	}
	pause := k.pause
	k.mu.Unlock()
	if !yes {
		return
	}
	time.Sleep(pause)
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // no further step runs before the process ends
}
