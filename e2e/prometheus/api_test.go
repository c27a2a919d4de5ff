package prometheus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"
)

// prometheus is the API of a Prometheus.
type prometheus struct{ url string }

// sample is the latest value of one series.
type sample struct {
	Metric map[string]string
	Value  [2]any // when, and what, as text
}

func (s *sample) value() float64 {
	text, _ := s.Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// query returns what a query says now.
func (p *prometheus) query(expr string) (samples []sample, err error) {
	var data struct{ Result []sample }
	err = p.get("/api/v1/query?"+url.Values{"query": {expr}}.Encode(), &data)
	return data.Result, err
}

// values returns the values of a label of the series that match.
func (p *prometheus) values(label, match string) (values []string, err error) {
	err = p.get("/api/v1/label/"+label+"/values?"+url.Values{"match[]": {match}}.Encode(), &values)
	return values, err
}

// alert is an alert that is pending or firing.
type alert struct {
	Labels, Annotations map[string]string
	State               string
}

// firing returns the alerts of a name that fire.
func (p *prometheus) firing(name string) ([]alert, error) {
	var data struct{ Alerts []alert }
	err := p.get("/api/v1/alerts", &data)
	return slices.DeleteFunc(data.Alerts, func(a alert) bool {
		return a.State != "firing" || a.Labels["alertname"] != name
	}), err
}

func (p *prometheus) get(path string, data any) error {
	client := http.Client{Timeout: 10 * time.Second}
	r, err := client.Get(p.url + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// want is what one series of an answer is to say.
type want struct {
	labels   string // some of its labels, such as "rule=account result=refused"; "": any series
	from, to float64
}

var (
	anything = math.Inf(1)
	some     = math.SmallestNonzeroFloat64
)

// check returns an error unless a series in samples is as wanted.
func (w want) check(samples []sample) error {
	for i := range samples {
		if !hasLabels(samples[i].Metric, w.labels) {
			continue
		}
		if v := samples[i].value(); v >= w.from && v <= w.to {
			return nil
		}
	}
	return fmt.Errorf("got %v, want a series {%s} between %g and %g", samples, w.labels, w.from, w.to)
}

// patience is far longer than anything takes on a machine with nothing else to do.
const patience = time.Minute

// await returns when reached returns nil, and reports its last error if it does not in time.
func await(t *testing.T, what string, reached func() error) bool {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(scrapes) {
		if err = reached(); err == nil {
			return true
		}
	}
	t.Errorf("%s: %v", what, err)
	return false
}
