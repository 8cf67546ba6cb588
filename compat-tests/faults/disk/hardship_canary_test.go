package disk

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
)

// Bugs that are planted for hardships.
const (
	noReserve = "nothing of the disk is kept free"
	wallOnly  = "the clock on the wall is taken for the time that passes"
)

// recorder records errors instead of failing.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// TestHardshipCanaries plants bugs in the handling of hardships.
func TestHardshipCanaries(t *testing.T) {
	base := scenario{name: "hardship", base: filled("shop.orders", "shop.items")}
	data := folder(t)
	files, held, err := base.prepare(data, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bug, sign string
		live      func(h *hardship)
	}{
		{noReserve, "insert: <nil>, not code 14031", fullDisk},
		{wallOnly, "a second later the budget lets 0 writes through", sessionsThroughSteps},
		{wallOnly, "ends a session that was used 25 minutes ago", sessionsThroughSteps},
	} {
		t.Run(strings.ReplaceAll(c.bug, " ", "-"), func(t *testing.T) {
			said := &recorder{}
			synctest.Test(t, func(t *testing.T) {
				said.TB = t
				c.live(&hardship{TB: said, rng: rand.New(rand.NewPCG(1, 31)), data: data, files: copyOf(files), held: held.clone(), bug: c.bug})
			})
			if text := strings.Join(said.said, "\n"); !strings.Contains(text, c.sign) {
				t.Errorf("nobody said %q:\n%.2000s", c.sign, text)
			}
		})
	}
}
