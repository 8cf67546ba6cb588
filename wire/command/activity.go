package command

import (
	"fmt"
	"math/rand/v2"
)

// Activity is the random UUID of one command, which Azure Cosmos DB shows as ActivityId. It is made without a lock or
// an allocation.
type Activity [2]uint64

// NewActivity returns a random Activity.
func NewActivity() Activity { return Activity{rand.Uint64(), rand.Uint64()} }

// String prints the Activity as a UUID of version 4.
func (a Activity) String() string {
	hi, lo := a[0]&^0xf000|0x4000, a[1]&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}
