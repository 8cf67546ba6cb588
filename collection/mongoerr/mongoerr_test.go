package mongoerr

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestCodeString(t *testing.T) {
	for c, want := range map[Code]string{
		BadValue: "BadValue", 11000: "DuplicateKey", 16500: "TooManyRequests",
		40324: "Location40324", 0: "Location0", -3: "Location-3",
	} {
		if got := c.String(); got != want {
			t.Errorf("Code(%d) = %q, want %q", int32(c), got, want)
		}
	}
}

func TestCategories(t *testing.T) {
	if !NotWritablePrimary.Is(NotPrimaryCategory) || !NotWritablePrimary.Is(RetriableCategory) {
		t.Error("10107 must be NotPrimary and Retriable")
	}
	if BadValue.Is(RetriableCategory) || Code(40324).Is(RetriableCategory) {
		t.Error("2 and 40324 must not be Retriable")
	}
}

func TestFromIsTotal(t *testing.T) {
	own := New(BadValue, "no").Because(errors.New("why"))
	cases := []struct {
		err  error
		want Code
	}{
		{own, BadValue},
		{fmt.Errorf("wrapped: %w", own), BadValue},
		{context.DeadlineExceeded, MaxTimeMSExpired},
		{fmt.Errorf("x: %w", context.Canceled), Interrupted},
		{errors.New("disk on fire"), InternalError},
	}
	for _, c := range cases {
		if got := From(c.err); got.Code != c.want {
			t.Errorf("From(%v) = %v, want %v", c.err, got.Code, c.want)
		}
	}
	if From(nil) != nil || CodeOf(nil) != 0 {
		t.Error("nil must stay nil")
	}
	if From(errors.New("secret path")).Msg != "an internal error occurred" {
		t.Error("text of an unknown error must not reach a client")
	}
	if !errors.Is(own, &Error{Code: BadValue}) || errors.Is(own, &Error{Code: TypeMismatch}) {
		t.Error("errors.Is must compare codes")
	}
}

// TestCopies checks that With and WithFields return copies and do not change an error that others share.
func TestCopies(t *testing.T) {
	base := New(WriteConflict, "conflict 100%")
	a := base.With(TransientTransactionError).WithFields([]byte{1})
	b := a.WithFields([]byte{2})
	c := a.WithFields([]byte{3})
	if base.Labels != 0 || base.Fields != nil || b.Fields[1] != 2 || c.Fields[1] != 3 {
		t.Errorf("copies share state: %v %v %v %v", base, a, b, c)
	}
	if base.Msg != "conflict 100%" {
		t.Errorf("Msg = %q", base.Msg)
	}
}

func TestReply(t *testing.T) {
	doc := func(d bson.D) []byte {
		b, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	kp, kv := doc(bson.D{{Key: "a", Value: 1}}), doc(bson.D{{Key: "a", Value: "x"}})
	e := Duplicate("db.c", "a_1", `{ a: "x" }`, kp, kv).With(TransientTransactionError | RetryableWriteError)
	b := e.AppendDoc([]byte("prefix"))[len("prefix"):]
	if err := bson.Raw(b).Validate(); err != nil {
		t.Fatal(err)
	}
	want := `{"ok": {"$numberDouble":"0.0"},` +
		`"errmsg": "E11000 duplicate key error collection: db.c index: a_1 dup key: { a: \"x\" }",` +
		`"code": {"$numberInt":"11000"},"codeName": "DuplicateKey",` +
		`"errorLabels": ["TransientTransactionError","RetryableWriteError"],` +
		`"keyPattern": {"a": {"$numberInt":"1"}},"keyValue": {"a": "x"}}`
	if got := bson.Raw(b).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	w := WriteError{Index: 7, Err: e}
	d := closeDoc(w.AppendTo([]byte{0, 0, 0, 0}), 0)
	if got := bson.Raw(d).Lookup("index").Int32(); got != 7 {
		t.Errorf("index = %d", got)
	}
	if err := bson.Raw(closeDoc(e.AppendWriteConcernError([]byte{0, 0, 0, 0}), 0)).Validate(); err != nil {
		t.Error(err)
	}
	for _, name := range e.Labels.Names() {
		if LabelByName(name)&e.Labels == 0 {
			t.Errorf("label %s does not go back", name)
		}
	}
}
