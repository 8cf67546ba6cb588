package ratelimit

import (
	"context"
	"sync"
	"time"
)

// OperatorRUs is the allowance of operators on each server, in RU/s: what commands of the class Operator of all users
// together may spend, outside of the budgets of collections and databases. It is enough for a page of documents, an
// explained query and a sample of a collection, and little beside the budget of a collection that needs diagnosis.
const OperatorRUs = 2000

// allowance is the budget of commands of the class Operator. The zero allowance is ready.
type allowance struct {
	once   sync.Once
	bucket Bucket
}

// at returns the bucket of the allowance, which is full at the first call.
func (a *allowance) at(now time.Time) *Bucket {
	a.once.Do(func() { a.bucket.setRate(now, OperatorRUs*RU, &Options{}) })
	return &a.bucket
}

// EnterOperator waits until the allowance of operators admits a command, for at most limit. It returns the time waited.
// Errors: ErrRetryTimeout; *Throttled if too many commands wait already; ctx.Err().
func (b *Budgets) EnterOperator(ctx context.Context, now time.Time, limit time.Duration) (waited time.Duration, err error) {
	return b.waitAt(ctx, now, b.operators.at(now), Class{}, limit)
}

// ChargeOperator takes a charge from the allowance of operators.
func (b *Budgets) ChargeOperator(now time.Time, charge MicroRU) {
	b.operators.at(now).Charge(now, charge)
}

// OperatorCharge returns the units that commands of the class Operator used since the server started. No collection
// has them in its statistics: the charges of all commands are the sum of those of the collections and of these.
func (b *Budgets) OperatorCharge() MicroRU {
	return b.operators.bucket.activity().Charge
}
