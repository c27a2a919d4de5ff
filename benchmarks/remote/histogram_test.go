package main

import (
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	for d := time.Duration(0); d < 2*time.Second; d += d/100 + 1 {
		if top := highest(bucket(d)); top < d || float64(top) > float64(d)*(1+1./32) {
			t.Errorf("%d lies in a bucket up to %d, want at most 1/32 more", d, top)
		}
		if b := bucket(d); b > 0 && highest(b-1) >= d {
			t.Errorf("%d lies in bucket %d, and the one before goes up to %d", d, b, highest(b-1))
		}
	}
}

func TestQuantile(t *testing.T) {
	var h histogram
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("of nothing: got %v, want 0", got)
	}
	for i := range 100 {
		h.count(time.Duration(i) * time.Microsecond)
	}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0, 0}, {0.5, 50 * time.Microsecond}, {0.99, 99 * time.Microsecond}, {1, 99 * time.Microsecond}} {
		if got := h.quantile(c.q); got < c.want || got > c.want+c.want/32 {
			t.Errorf("quantile %v: got %v, want %v", c.q, got, c.want)
		}
	}
}
