package faults_test

import "testing"

func TestMemcachedOutages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options
		outage
	}{
		{options{direct: true}, outage{name: "refused from the start", fromStart: true, fault: kill, heal: restart}},
		{options{direct: true}, outage{name: "killed", fault: kill, heal: restart, loses: true}},
		{options{}, outage{name: "black hole", fault: hold, heal: works}},
		{options{}, outage{name: "slower than the time-out", fault: slow, heal: works}},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			row.run(t, startMemcached(t, row.options))
		})
	}
}
