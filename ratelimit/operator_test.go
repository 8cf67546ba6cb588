package ratelimit

import (
	"errors"
	"testing"
	"time"
)

// Requests of the class Operator pay from their own allowance: the budget of the collection is neither needed nor
// touched, and every charge is in exactly one of the sums.
func TestOperator(t *testing.T) {
	b := &Budgets{Clock: NewVirtualClock(t0)}
	now := b.Clock.Now()
	p := b.Collection(7)
	p.Set(now, Throughput{Mode: Manual, RUs: 400}, Options{})
	at := ShardID{7, 0}
	b.ChargeAt(now, Class{}, at, 1000*RU)
	scope := Scope{Collection: 7, Shards: []int{0}}
	if _, err := b.Enter(t.Context(), now, scope, Class{}); err == nil {
		t.Fatal("the budget admits")
	}
	operator := Class{Operator: true}
	for range 3 { // the third waits for the debt of the others
		if _, err := b.EnterOperator(t.Context(), b.Clock.Now(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if waited, err := b.Enter(t.Context(), b.Clock.Now(), scope, operator); err != nil || waited != 0 {
			t.Fatal(waited, err)
		}
		b.ChargeAt(b.Clock.Now(), operator, at, 1500*RU)
	}
	if took := b.Clock.Now().Sub(now); took != time.Second {
		t.Errorf("three commands of 1500 RU took %v", took)
	}
	if spent, _ := p.Totals(); spent != 1000*RU || b.OperatorCharge() != 4500*RU {
		t.Errorf("the collection has %v, operators %v", spent, b.OperatorCharge())
	}
	b.ChargeOperator(b.Clock.Now(), 70*OperatorRUs*RU)
	if _, err := b.EnterOperator(t.Context(), b.Clock.Now(), time.Minute); !errors.Is(err, ErrRetryTimeout) {
		t.Error(err)
	}
}
