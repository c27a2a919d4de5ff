package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestObserved(t *testing.T) {
	var log bytes.Buffer
	o := options{perAddress: "300/h", proxies: "10.0.0.0/8,fd00::/8"}
	service, page, err := handlers(o, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	const requests = 200 // more than two windows of an account allow
	for range requests {
		r := httptest.NewRequest(http.MethodGet, "/export/all", nil)
		r.RemoteAddr = "10.1.2.3:4567"
		r.Header.Set("X-Forwarded-For", "192.0.2.7")
		r.Header.Set("X-API-Key", "secret")
		service.ServeHTTP(httptest.NewRecorder(), r)
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`httplimit_decisions_total{namespace="edge",result="allowed",rule="address",source="store"} 200`,
		`httplimit_rule_limit{limit="1000/h",namespace="shop",rule="export"} 1000`,
		`httplimit_store_entries{store="addresses"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
	for _, want := range []string{"rule=account", "result=refused", "address=192.0.2.7", "result=shadow_refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, log.String())
		}
	}
	for _, text := range []string{w.Body.String(), log.String()} {
		if strings.Contains(text, "secret") {
			t.Errorf("the API key is in\n%s", text)
		}
	}
}

func TestFaultsOfFlags(t *testing.T) {
	for flag, o := range map[string]options{
		"-per-address": {perAddress: "many"},
		"-max-keys":    {perAddress: "1/h", maxKeys: -1},
		"-proxies":     {perAddress: "1/h", proxies: "10.0.0.0"},
	} {
		_, _, err := handlers(o, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("got %v, want a fault of %s", err, flag)
		}
	}
}
