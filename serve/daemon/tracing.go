package daemon

import (
	"context"

	"github.com/cantledb/cantle/serve/tracing"
	"github.com/cantledb/cantle/wire/command"
)

// startTracing exports trace spans of commands to an OpenTelemetry collector, if --otlp-endpoint is set. Otherwise
// commands do no work for tracing.
// Errors: invalid settings.
func (d *Daemon) startTracing(ctx context.Context, s *command.Server) error {
	if d.cfg.OTLPEndpoint == "" {
		return nil
	}
	e, err := tracing.New(tracing.Config{
		Endpoint: d.cfg.OTLPEndpoint, Headers: d.cfg.OTLPHeaders, Ratio: d.cfg.OTLPRatio, Version: Version, Instance: d.cfg.Listen,
		Failed: func(err error, lost int64) {
			d.log.Warn().Err(err).Int64("spans", lost).Msg("trace spans were dropped: the collector at --otlp-endpoint did not accept them")
		},
	})
	if err != nil {
		return err
	}
	s.OnEnd(e.Record)
	d.loop(ctx, e.Run)
	return nil
}
