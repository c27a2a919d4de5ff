package main

import (
	"context"
	"log/slog"

	"github.com/httplimit/httplimit"
)

// refusals logs who was refused, and by which rules: the Private ones too, which no client hears of. It leaves out the
// user name, which may be somebody's password in the wrong field. A refused request costs a line, as it does in an
// access log.
type refusals struct {
	log    *slog.Logger
	client httplimit.Key // that of the rules, so that the address is the one that was counted
}

// Observe implements [httplimit.Observer].
func (s refusals) Observe(ctx context.Context, o *httplimit.Observation) {
	if o.Status == 0 {
		return
	}
	address, _ := httplimit.ClientAddr(s.client, o.Request.HTTP()) // empty in the log where there is none
	var rules []string
	for i := range o.Rules {
		if o.Rules[i].Result == httplimit.ResultRefused {
			rules = append(rules, o.Rules[i].Rule)
		}
	}
	s.log.WarnContext(ctx, "refused", "client", address, "rules", rules, "status", o.Status)
}
