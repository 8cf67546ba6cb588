package tikvkv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pingcap/log"
	"github.com/tikv/client-go/v2/config"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/util"
	pd "github.com/tikv/pd/client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/cantledb/cantle/storage"
)

// connectTimeout is the timeout for PD's first answer when a store is opened.
const connectTimeout = 15 * time.Second

// Open connects to the TiKV cluster at l and opens the store of its keyspace. Settings and log of client-go are
// global, so a process can open only one store. Errors: errors of OpenOn; ErrUnavailable if PD cannot be reached or
// does not answer within 15 seconds.
func Open(ctx context.Context, l Location, o Options) (storage.Store, error) {
	o.Keyspace = l.Keyspace
	config.UpdateGlobal(func(c *config.Config) {
		c.Security = config.NewSecurity(l.CA, l.Cert, l.Key, nil)
	})
	forwardClientLog(o.defaults().Log)
	nameMetrics()
	kv, err := connect(ctx, l, connectTimeout)
	if err != nil {
		return nil, err
	}
	s, err := OpenOn(ctx, kv, o)
	if err != nil {
		_ = kv.Close()
		return nil, err
	}
	return s, nil
}

// connect creates a client of a cluster. Errors: ErrUnavailable if dial fails or exceeds timeout; ctx.Err().
func connect(ctx context.Context, l Location, timeout time.Duration) (*tikv.KVStore, error) {
	type result struct {
		kv  *tikv.KVStore
		err error
	}
	life := context.WithoutCancel(ctx) // PD's client uses this context for its whole life
	done := make(chan result, 1)
	go func() {
		kv, err := dial(life, l)
		done <- result{kv, err}
	}()
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("%w: %s: %w", storage.ErrUnavailable, strings.Join(l.Addresses, ", "), r.err)
		}
		return r.kv, nil
	case <-late.C:
	case <-ctx.Done():
	}
	go func() { // dial returns eventually: then the client is closed
		if r := <-done; r.kv != nil {
			_ = r.kv.Close()
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: PD does not answer at %s", storage.ErrUnavailable, strings.Join(l.Addresses, ", "))
}

// dial connects to PD and creates the client.
func dial(ctx context.Context, l Location) (*tikv.KVStore, error) {
	c := config.GetGlobalConfig()
	client, err := pd.NewClientWithContext(ctx, l.Addresses,
		pd.SecurityOption{CAPath: l.CA, CertPath: l.Cert, KeyPath: l.Key},
		pd.WithGRPCDialOptions(grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: time.Duration(c.TiKVClient.GrpcKeepAliveTime) * time.Second, Timeout: c.TiKVClient.GetGrpcKeepAliveTimeout(),
		})),
		pd.WithCustomTimeoutOption(time.Duration(c.PDClient.PDServerTimeout)*time.Second))
	if err != nil {
		return nil, err
	}
	coded := tikv.NewCodecPDClient(tikv.ModeTxn, util.InterceptedPDClient{Client: client})
	tls, err := c.Security.ToTLSConfig()
	if err != nil {
		client.Close()
		return nil, err
	}
	points, err := tikv.NewEtcdSafePointKV(l.Addresses, tls, tikv.WithPrefix(safePointPrefix))
	if err != nil {
		client.Close()
		return nil, err
	}
	rpc := tikv.NewRPCClient(tikv.WithSecurity(c.Security), tikv.WithCodec(coded.GetCodec()))
	kv, err := tikv.NewKVStore(fmt.Sprintf("cantle-%d", client.GetClusterID(ctx)), coded, points, rpc)
	if err != nil {
		client.Close()
		_ = points.Close()
		return nil, err
	}
	return kv, nil
}

// safePointPrefix is the prefix of the keys in PD's etcd under which the clients of all servers of this program keep
// their safe point.
const safePointPrefix = "/cantle"

// forwardClientLog sends warnings and errors of client-go's log to the log of the store.
func forwardClientLog(to func(isError bool, message string)) {
	encoder := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "message"})
	core := func(isError bool, from zap.LevelEnablerFunc) zapcore.Core {
		return zapcore.NewCore(encoder, zapcore.AddSync(clientLogWriter{to, isError}), from)
	}
	log.ReplaceGlobals(zap.New(zapcore.NewTee(
		core(true, func(l zapcore.Level) bool { return l >= zap.ErrorLevel }),
		core(false, func(l zapcore.Level) bool { return l == zap.WarnLevel }))),
		&log.ZapProperties{Level: zap.NewAtomicLevelAt(zap.WarnLevel)})
}

// clientLogWriter writes the lines of client-go's log to the log of the store.
type clientLogWriter struct {
	to      func(isError bool, message string)
	isError bool
}

// Write implements io.Writer.
func (l clientLogWriter) Write(line []byte) (int, error) {
	l.to(l.isError, strings.TrimSpace(string(line)))
	return len(line), nil
}
