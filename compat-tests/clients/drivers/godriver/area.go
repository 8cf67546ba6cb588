package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// area holds the context in which the checks of one area run. The first failure ends the area.
type area struct {
	ctx    context.Context
	client *mongo.Client
	db     *mongo.Database
	coll   *mongo.Collection
}

// skipped is the reason for which an area does not apply.
type skipped string

func (s skipped) Error() string { return string(s) }

// stopped is the panic value of a failed check.
type stopped struct{ error }

func try(name string, check func(*area)) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), areaSecondsMax*time.Second)
	defer cancel()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = r.error
		default:
			panic(r)
		}
	}()
	a := &area{ctx: ctx}
	where := uri
	if slices.Contains([]string{"retryable", "throttling", "pool"}, name) { // areas about a single server
		where = one
	}
	a.client = a.open(options.Client().ApplyURI(where).SetAppName("go_" + name))
	defer a.client.Disconnect(context.WithoutCancel(ctx))
	a.db = a.client.Database("clients_go")
	a.coll = a.db.Collection(name)
	a.ok(a.db.Drop(ctx))
	check(a)
	a.ok(a.db.Drop(ctx))
	return nil
}

func (a *area) open(o *options.ClientOptions) *mongo.Client {
	client, err := mongo.Connect(o)
	a.ok(err)
	return client
}

func (a *area) fail(format string, args ...any) {
	where := ""
	for skip := 2; ; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		if !ok {
			break
		}
		if strings.HasSuffix(file, "main.go") {
			where += fmt.Sprintf(":%d", line)
		}
	}
	panic(stopped{fmt.Errorf("lines%s: %s", where, fmt.Sprintf(format, args...))})
}

func (a *area) ok(err error) {
	if err != nil {
		a.fail("%v", err)
	}
}

func (a *area) equal(got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w && !reflect.DeepEqual(got, want) {
		a.fail("got %s, want %s", g, w)
	}
}

func (a *area) refused(code int, err error) {
	var e mongo.ServerError
	if !errors.As(err, &e) || !e.HasErrorCode(code) {
		a.fail("got %v, want code %d", err, code)
	}
}

func d(pairs ...any) bson.D {
	out := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

func (a *area) fill(n int) {
	docs := make([]any, n)
	for i := range docs {
		docs[i] = d("_id", i, "g", i%4, "v", i)
	}
	_, err := a.coll.InsertMany(a.ctx, docs)
	a.ok(err)
}

func (a *area) count(filter bson.D) int64 {
	n, err := a.coll.CountDocuments(a.ctx, filter)
	a.ok(err)
	return n
}
